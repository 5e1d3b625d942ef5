#include "run/guardian_link.hpp"

#include "program/failure.hpp"
#include "run/process_tree.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

namespace colock::cli {

namespace asio = boost::asio;

namespace {

void require_sight_of_processes()
{
    if (!sees_processes()) {
        throw failure{usage,
                      "/proc does not show the processes of the PID namespace of the command, so "
                      "they could not be ended in time; unshare has --fork and --mount-proc"};
    }
}

} // namespace

bool reaped_within(pid_t child, std::chrono::nanoseconds limit)
{
    const int process = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
    ::pollfd ended{process, POLLIN, 0};
    const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(limit);
    const bool in_time = process >= 0 && ::poll(&ended, 1, static_cast<int>(time.count())) == 1;
    ::close(process);
    return in_time && ::waitpid(child, nullptr, 0) == child;
}

forked fork_beside(const std::function<void(int supervisor, int consent)>& body)
{
    require_sight_of_processes();
    int ends[2];
    int consent[2]{-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        throw std::system_error{errno, std::generic_category(), "socketpair"};
    }
    const bool has_pipe = ::pipe2(consent, O_CLOEXEC) == 0;
    const auto process = has_pipe ? ::fork() : -1;
    if (process == 0) {
        ::close(ends[0]);
        ::close(consent[0]);
        try {
            body(ends[1], consent[1]);
        } catch (...) { // it has nobody to tell
        }
        ::_exit(125);
    }
    const int error = errno;
    ::close(ends[1]);
    ::close(consent[1]);
    if (process < 0) {
        ::close(ends[0]);
        ::close(consent[0]);
        throw std::system_error{error, std::generic_category(), has_pipe ? "fork" : "pipe2"};
    }
    // Should somebody kill the new process. Where SIGCHLD is ignored, the kernel reaps children itself: one that ends during a
    // look at /proc would not be found, and neither would what it leaves.
    ::signal(SIGCHLD, SIG_DFL);
    return {process, ends[0], consent[0]};
}

guardian_link::guardian_link(const guardian_task& task)
    : patience_{task.terms.grace + std::chrono::seconds{1}}
{
    const auto made =
        fork_beside([&](int supervisor, int consent) { be_guardian(supervisor, consent, task); });
    guardian_ = made.process;
    consent_ = made.consent;
    open(made.socket);
}

guardian_link::~guardian_link()
{
    ::close(consent_);
    if (guardian_ < 0) {
        return;
    }
    // The guardian ends what is left, and then itself.
    close();
    if (reaped_within(guardian_, patience_)) {
        return;
    }
    kill();
    for (int refused = 0; orphans_.end_some({}, refused) != round_end::over;) {
        ::usleep(5'000);
    }
}

// A look at the children that ends before the guardian does finds none of the guardian's.
void guardian_link::keep_going()
{
    if (guardian_ < 0) {
        return;
    }
    orphans_.note_others({guardian_}, [this] {
        ::siginfo_t ended{};
        return ::waitid(P_PID, static_cast<id_t>(guardian_), &ended, WEXITED | WNOHANG | WNOWAIT) ==
                   0 &&
               ended.si_pid == 0;
    });
    ::kill(guardian_, SIGCONT);
}

void guardian_link::kill()
{
    if (guardian_ < 0) {
        return;
    }
    ::kill(std::exchange(guardian_, -1), SIGKILL);
    close();
}

asio::awaitable<void> guardian_link::end_by_force(std::function<void(int)> refused)
{
    kill();
    co_await orphans_.end([] { return std::vector<pid_t>{}; }, std::move(refused));
}

} // namespace colock::cli
