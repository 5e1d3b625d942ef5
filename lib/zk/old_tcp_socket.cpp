#include <colock/error.hpp>

#include "zk/old_sockets.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace colock::zk {

namespace {

// A server answers at most what was outstanding when the client gave up. One that sends more is not read any further:
// it would keep the executor busy for as long as the session lives.
constexpr std::size_t most_bytes = std::size_t{256} << 20;

class old_tcp_socket final : public old_socket,
                             public std::enable_shared_from_this<old_tcp_socket> {
public:
    old_tcp_socket(const strand_type& strand, int descriptor) : stream_{strand}
    {
        error_code failed;
        stream_.assign(descriptor, failed);
        if (failed) {
            ::close(descriptor);
        }
    }

    void finish() noexcept override
    {
        if (!stream_.is_open()) {
            return;
        }
        if (::shutdown(stream_.native_handle(), SHUT_WR) != 0) {
            close(); // the server has reset it
        } else {
            read();
        }
    }

    [[nodiscard]] bool is_over() const noexcept override { return !stream_.is_open(); }

    void close() noexcept override
    {
        error_code ignored;
        stream_.close(ignored);
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

    std::size_t read_ = 0;
    stream stream_;
};

} // namespace

std::shared_ptr<old_socket> make_old_socket(const strand_type& strand, int descriptor)
{
    return std::make_shared<old_tcp_socket>(strand, descriptor);
}

} // namespace colock::zk
