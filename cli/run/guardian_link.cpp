#include "run/guardian_link.hpp"

#include "program/failure.hpp"
#include "run/process_tree.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

namespace colock::cli {

namespace asio = boost::asio;

guardian_link::guardian_link(const guardian_task& task)
    : patience_{task.terms.grace + std::chrono::seconds{1}}, not_ours_{children_of(::getpid())}
{
    if (!sees_processes()) {
        throw failure{usage,
                      "/proc does not show the processes of this PID namespace, so they could "
                      "not be ended in time; mount it (unshare has --mount-proc)"};
    }
    int ends[2];
    int consent[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        throw std::system_error{errno, std::generic_category(), "socketpair"};
    }
    if (::pipe2(consent, O_CLOEXEC) != 0) {
        throw std::system_error{errno, std::generic_category(), "pipe2"};
    }
    guardian_ = ::fork();
    if (guardian_ == 0) {
        ::close(ends[0]);
        ::close(consent[0]);
        be_guardian(ends[1], consent[1], task);
    }
    const int error = errno;
    ::close(ends[1]);
    ::close(consent[1]);
    socket_ = ends[0];
    consent_ = consent[0];
    if (guardian_ < 0) {
        ::close(socket_);
        throw std::system_error{error, std::generic_category(), "fork"};
    }
    // Should somebody kill the guardian. Where SIGCHLD is ignored, the kernel reaps children itself: one that ends during a
    // look at /proc would not be found, and neither would what it leaves.
    ::signal(SIGCHLD, SIG_DFL);
}

void guardian_link::adopt_orphans()
{
    cli::adopt_orphans();
}

guardian_link::~guardian_link()
{
    ::close(consent_);
    if (guardian_ < 0) {
        return;
    }
    // The guardian ends what is left, and then itself.
    ::close(std::exchange(socket_, -1));
    const int process = static_cast<int>(::syscall(SYS_pidfd_open, guardian_, 0));
    ::pollfd ended{process, POLLIN, 0};
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(patience_);
    const bool in_time = process >= 0 && ::poll(&ended, 1, static_cast<int>(limit.count())) == 1;
    ::close(process);
    if (in_time) {
        ::waitpid(guardian_, nullptr, 0);
        return;
    }
    kill();
    for (int refused = 0; end_some(refused) != round_end::over;) {
        ::usleep(5'000);
    }
}

bool guardian_link::tell(const message& m)
{
    return socket_ >= 0 && send_or_drop(socket_, m);
}

asio::awaitable<std::optional<message>> guardian_link::next()
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

// A process that becomes a child of this one while the guardian lives is not the command's: those become children of the guardian.
// A look at the children that ends before the guardian does finds none of the guardian's.
void guardian_link::keep_going()
{
    if (guardian_ < 0) {
        return;
    }
    auto children = some_own_children();
    ::siginfo_t ended{};
    if (::waitid(P_PID, static_cast<id_t>(guardian_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        ended.si_pid == 0) {
        std::erase_if(children, [this](pid_t child) {
            return child == guardian_ || std::ranges::find(not_ours_, child) != not_ours_.end();
        });
        not_ours_.insert(not_ours_.end(), children.begin(), children.end());
    }
    // Nobody else does: a session guard that was replaced is one.
    std::erase_if(not_ours_,
                  [](pid_t child) { return ::waitpid(child, nullptr, WNOHANG) == child; });
    ::kill(guardian_, SIGCONT);
}

void guardian_link::kill()
{
    if (guardian_ < 0) {
        return;
    }
    ::kill(std::exchange(guardian_, -1), SIGKILL);
    if (socket_ >= 0) {
        ::shutdown(socket_, SHUT_RDWR); // whoever waits in next() has waited enough
        ::close(std::exchange(socket_, -1));
    }
}

asio::awaitable<void> guardian_link::end_by_force(std::function<void(int)> refused)
{
    using namespace std::chrono_literals;
    kill();
    asio::steady_timer next{co_await asio::this_coro::executor};
    for (auto pause = 5ms;;) {
        int number = 0;
        const auto round = end_some(number);
        if (round == round_end::over) {
            co_return;
        }
        if (number != 0) {
            refused(number);
        }
        next.expires_after(round == round_end::reaped ? 0ms : pause);
        pause = round == round_end::reaped ? 5ms
                                           : std::min<std::chrono::milliseconds>(2 * pause, 250ms);
        co_await next.async_wait(asio::use_awaitable);
    }
}

round_end guardian_link::end_some(int& refused)
{
    return end_children(
        {.none =
             [] {
                 ::siginfo_t ignored{};
                 return ::waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) != 0 &&
                        errno == ECHILD;
             },
         .look =
             [this] {
                 auto left = children_of(::getpid());
                 std::erase_if(left, [this](pid_t child) {
                     return std::ranges::find(not_ours_, child) != not_ours_.end();
                 });
                 return left;
             },
         .reap = [](pid_t child) { return ::waitpid(child, nullptr, WNOHANG) == child; },
         .kill =
             [&] {
                 const auto reap = [this] {
                     for (const auto child : some_own_children()) {
                         if (std::ranges::find(not_ours_, child) == not_ours_.end()) {
                             ::waitpid(child, nullptr, WNOHANG);
                         }
                     }
                 };
                 refused = signal_all_below_this(SIGKILL, reap, not_ours_);
             },
         .spares = !not_ours_.empty()});
}

} // namespace colock::cli
