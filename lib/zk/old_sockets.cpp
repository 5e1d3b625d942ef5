#include "old_sockets.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <utility>

namespace colock::zk {

namespace {

using clock = std::chrono::steady_clock;

// No ensemble waits so long for a member that has fallen silent: what such a member forwards later is refused.
constexpr auto longest_wait = std::chrono::minutes{10};

// A server answers at most what was outstanding when the client gave up. One that sends more is not read any further:
// it would keep the executor busy for as long as the session lives.
constexpr std::size_t most_bytes = std::size_t{256} << 20;

// There are hardly so many servers. When there are, the oldest socket goes.
constexpr std::size_t most_sockets = 64;

} // namespace

class old_sockets::socket : public std::enable_shared_from_this<socket> {
public:
    socket(const strand_type& strand, std::string address)
        : address_{std::move(address)}, stream_{strand}
    {
    }

    void begin(int descriptor)
    {
        error_code failed;
        stream_.assign(descriptor, failed);
        if (failed) {
            ::close(descriptor);
        } else if (::shutdown(descriptor, SHUT_WR) != 0) {
            close(); // the server has reset it
        } else {
            read();
        }
    }

    void close() noexcept
    {
        error_code ignored;
        stream_.close(ignored);
    }

    [[nodiscard]] const std::string& address() const noexcept { return address_; }
    [[nodiscard]] bool is_over() const
    {
        return !stream_.is_open() || clock::now() - since_ > longest_wait;
    }

private:
    // One piece at a time: a server that never stops sending must not stop the executor.
    void read()
    {
        char bytes[16384];
        const auto count = ::recv(stream_.native_handle(), bytes, sizeof bytes, MSG_DONTWAIT);
        const bool more =
            count > 0 || (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
        if (!more) {
            close();
            return;
        }
        read_ += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
        if (read_ > most_bytes) {
            return; // the socket stays: the server has not closed it
        }
        stream_.async_wait(stream::wait_read, [self = shared_from_this()](const error_code& ec) {
            if (!ec && self->stream_.is_open()) {
                self->read();
            }
        });
    }

    const std::string address_;
    const clock::time_point since_ = clock::now();
    std::size_t read_ = 0;
    stream stream_;
};

void old_sockets::add(const std::string& address, int descriptor)
{
    forget_closed();
    std::erase_if(all_, [&](const auto& each) {
        const bool same = each->address() == address;
        if (same) {
            each->close();
        }
        return same;
    });
    if (all_.size() == most_sockets) {
        all_.front()->close();
        all_.erase(all_.begin());
    }
    all_.push_back(std::make_shared<socket>(strand_, address));
    all_.back()->begin(descriptor);
}

bool old_sockets::contains(const std::string& address)
{
    forget_closed();
    return std::ranges::any_of(all_, [&](const auto& each) { return each->address() == address; });
}

void old_sockets::clear() noexcept
{
    for (const auto& each : std::exchange(all_, {})) {
        each->close();
    }
}

void old_sockets::forget_closed()
{
    std::erase_if(all_, [](const auto& each) {
        const bool over = each->is_over();
        if (over) {
            each->close();
        }
        return over;
    });
}

} // namespace colock::zk
