#include "run/guardian_socket.hpp"

#include "connect/awaiting.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <utility>

namespace colock::cli {

namespace asio = boost::asio;

guardian_socket::~guardian_socket()
{
    close();
}

void guardian_socket::close() noexcept
{
    if (socket_ >= 0) {
        ::shutdown(socket_, SHUT_RDWR); // whoever waits in next() has waited enough
        ::close(std::exchange(socket_, -1));
    }
}

bool guardian_socket::has_other_end() const noexcept
{
    ::pollfd end{socket_, 0, 0};
    return socket_ >= 0 && ::poll(&end, 1, 0) >= 0 && (end.revents & (POLLHUP | POLLERR)) == 0;
}

bool guardian_socket::tell(const message& m)
{
    return socket_ >= 0 && send_or_drop(socket_, m);
}

asio::awaitable<std::optional<message>> guardian_socket::next()
{
    // Not a member: this object lives longer than the execution context.
    asio::posix::stream_descriptor readable{co_await asio::this_coro::executor};
    while (socket_ >= 0) {
        message m{};
        const auto what = receive(socket_, m);
        if (what == received::message) {
            co_return m;
        }
        if (what == received::end) {
            break;
        }
        if (!readable.is_open()) {
            readable.assign(::dup(socket_));
        }
        co_await readable.async_wait(asio::posix::stream_descriptor::wait_read,
                                     asio::use_awaitable);
    }
    co_return std::nullopt;
}

asio::awaitable<void> keep_going_for_ever(guardian_socket& guardian)
{
    for (;;) {
        co_await pause(std::chrono::milliseconds{500});
        guardian.keep_going();
    }
}

} // namespace colock::cli
