#include "run/guardian_link.hpp"

#include "run/process_tree.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace colock::cli {

namespace asio = boost::asio;

guardian_link::guardian_link(const guardian_task& task)
    : patience_{task.terms.grace + std::chrono::seconds{1}}, not_ours_{children_of(::getpid())}
{
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        throw std::system_error{errno, std::generic_category(), "socketpair"};
    }
    guardian_ = ::fork();
    if (guardian_ == 0) {
        ::close(ends[0]);
        be_guardian(ends[1], task);
    }
    const int error = errno;
    ::close(ends[1]);
    socket_ = ends[0];
    if (guardian_ < 0) {
        ::close(socket_);
        throw std::system_error{error, std::generic_category(), "fork"};
    }
    adopt_orphans(); // should somebody kill the guardian
}

guardian_link::~guardian_link()
{
    if (guardian_ < 0) {
        return;
    }
    // The guardian ends what is left, and then itself.
    ::close(socket_);
    const int process = static_cast<int>(::syscall(SYS_pidfd_open, guardian_, 0));
    ::pollfd ended{process, POLLIN, 0};
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(patience_);
    const bool in_time = process >= 0 && ::poll(&ended, 1, static_cast<int>(limit.count())) == 1;
    ::close(process);
    if (in_time) {
        ::waitpid(guardian_, nullptr, 0);
    } else {
        end_by_force();
    }
}

asio::awaitable<std::optional<message>> guardian_link::next()
{
    // Not a member: this object lives longer than the execution context.
    asio::posix::stream_descriptor readable{co_await asio::this_coro::executor, ::dup(socket_)};
    std::optional<message> next;
    for (;;) {
        message m{};
        const auto what = receive(socket_, m);
        if (what == received::message) {
            next = std::move(m);
        }
        if (what != received::nothing) {
            co_return next;
        }
        co_await readable.async_wait(asio::posix::stream_descriptor::wait_read,
                                     asio::use_awaitable);
    }
}

void guardian_link::end_by_force()
{
    if (guardian_ < 0) {
        return;
    }
    ::kill(guardian_, SIGKILL);
    ::waitpid(std::exchange(guardian_, -1), nullptr, 0);
    // Its children are ours now.
    for (;;) {
        auto left = children_of(::getpid());
        std::erase_if(left, [&](pid_t child) {
            return std::ranges::find(not_ours_, child) != not_ours_.end() ||
                   ::waitpid(child, nullptr, WNOHANG) == child;
        });
        if (left.empty()) {
            return;
        }
        signal_all_below(::getpid(), SIGKILL, not_ours_);
        ::usleep(5'000); // the kernel needs a moment for each
    }
}

} // namespace colock::cli
