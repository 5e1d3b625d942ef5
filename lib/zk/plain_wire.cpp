// Plain TCP.
#include <colock/error.hpp>

#include "zk/descriptor.hpp"
#include "zk/socket_pair.hpp"
#include "zk/wire.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

namespace colock::zk {

namespace {

class plain_wire final : public wire {
public:
    plain_wire(const strand_type& strand, std::string address)
        : address_{std::move(address)}, socket_{strand}
    {
    }

    [[nodiscard]] const std::string& address_for_client() const noexcept override
    {
        return address_;
    }

    // A dup, because the C client closes its own whenever it likes.
    [[nodiscard]] bool attach(int descriptor) override
    {
        own_ = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
        if (own_ == -1) {
            return false;
        }
        error_code failed;
        socket_.assign(own_, failed);
        if (failed) {
            ::close(std::exchange(own_, -1));
            return false;
        }
        descriptor_ = descriptor;
        return true;
    }
    [[nodiscard]] bool is_attached() const noexcept override { return socket_.is_open(); }
    [[nodiscard]] stream& socket() noexcept override { return socket_; }
    [[nodiscard]] bool holds_unread() const noexcept override { return false; }

    [[nodiscard]] bool has_unread() const noexcept override
    {
        int bytes = 0;
        return ::ioctl(own_, FIONREAD, &bytes) == 0 && bytes > 0;
    }
    [[nodiscard]] received receive(char* into, std::size_t size) override
    {
        return receive(into, size, MSG_DONTWAIT);
    }
    [[nodiscard]] bool is_direct() const noexcept override { return true; }
    [[nodiscard]] received look(char* into, std::size_t size) override
    {
        return receive(into, size, MSG_DONTWAIT | MSG_PEEK);
    }

    // Other bytes lie at the C client's descriptor meanwhile. What is written there would be lost, so a writer has to
    // keep its bytes.
    [[nodiscard]] bool begin_giving() noexcept override
    {
        return pair_.emplace().place(descriptor_, false);
    }
    [[nodiscard]] bool give(std::string_view& bytes) noexcept override
    {
        return pair_->give(bytes);
    }
    void end_giving(bool open) noexcept override
    {
        pair_.reset();
        if (open) {
            replace_descriptor(descriptor_, socket_.native_handle()); // an open one: cannot fail
        }
    }

    // The C client writes the length of a request, and the request, each with a call of its own, and without Nagle's
    // algorithm each is a segment that wakes the server. Held back, all that a batch has goes in one.
    void hold_back(bool on) noexcept override
    {
        if (socket_.is_open() && std::exchange(held_back_, on) != on) {
            cork(socket_.native_handle(), on);
        }
    }
    [[nodiscard]] bool say(std::string_view& bytes) override
    {
        const auto count = ::send(socket_.native_handle(), bytes.data(), bytes.size(),
                                  MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count < 0) {
            return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
        }
        bytes.remove_prefix(static_cast<std::size_t>(count));
        return true;
    }
    [[nodiscard]] bool carry() override { return true; }
    [[nodiscard]] bool has_unsent() const noexcept override { return false; }
    [[nodiscard]] bool takes_at_once() const noexcept override { return false; }

    [[nodiscard]] wire_fault fault() const override { return {}; }
    void close() noexcept override
    {
        error_code ignored;
        socket_.close(ignored);
    }
    [[nodiscard]] int release() override { return socket_.release(); }

private:
    [[nodiscard]] received receive(char* into, std::size_t size, int flags)
    {
        const auto count = ::recv(socket_.native_handle(), into, size, flags);
        if (count > 0) {
            return {.count = static_cast<std::size_t>(count)};
        }
        return {.over = count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)};
    }

    std::string address_;
    stream socket_;
    int own_ = -1;        // the dup
    int descriptor_ = -1; // the C client's
    std::optional<socket_pair> pair_;
    bool held_back_ = false;
};

} // namespace

std::unique_ptr<wire> make_plain_wire(const strand_type& strand, std::string address)
{
    return std::make_unique<plain_wire>(strand, std::move(address));
}

} // namespace colock::zk
