#include "run/command_run.hpp"

#include "connect/awaiting.hpp"
#include "connect/duration.hpp"
#include "connect/until_signal.hpp"
#include "program/exit_status.hpp"
#include "run/boot_time.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <exception>
#include <string>
#include <utility>

namespace colock::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

bool run_result::was_killed() const noexcept
{
    return loss || guardian_lost || WIFSIGNALED(wait_status);
}

int status_of(int wait_status)
{
    return WIFSIGNALED(wait_status) ? signalled + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

asio::awaitable<run_result> command_run::carry_out(const std::vector<variable>& environment)
{
    run_result result;
    in_.bound.allow_start();
    if (renew()) {
        if (!in_.guardian.tell({message_kind::start, 0, packed(environment)})) {
            in_.guardian.kill(); // or it would start the command later
        }
        std::exception_ptr failed;
        try {
            // None but the first ever returns.
            auto first = co_await first_of(hear_guardian(), renew_for_ever(), watch_loss(),
                                           pass_on_revocation());
            result = std::get<0>(first);
        } catch (...) {
            failed = std::current_exception();
        }
        if (failed) {
            co_await keep_on();      // this may be cancelled
            co_await end_by_force(); // nothing may run when the lock goes
            std::rethrow_exception(failed);
        }
    }
    // From here on nothing runs: a release that fails does no harm to what the command did.
    result.started = !in_.bound.forbid_start();
    if (!loss_) {
        loss_ = held_.loss_reason();
    }
    if (!loss_ && (late_ || held_.remaining() == held_.remaining().zero())) {
        loss_ = errc::safe_until_passed;
    }
    if (loss_) {
        say_lost(result.started ? "; the command has ended" : "; the command is not started");
    }
    result.loss = loss_;
    co_return result;
}

void command_run::pass_on(int number)
{
    in_.guardian.tell({message_kind::pass_on, number});
}

void command_run::end()
{
    in_.guardian.tell({message_kind::end});
}

bool command_run::is_running() const noexcept
{
    return start_heard_ && !end_heard_;
}

// False when the lock is lost: then the bound stays as it was, in the past. The time that is left is asked for last. Should
// this process be stopped in between, the bound is too early, which is safe.
bool command_run::renew()
{
    const auto now = boot_time();
    const auto remaining = held_.remaining();
    if (remaining > remaining.zero()) {
        in_.bound.renew(now + remaining);
    }
    return remaining > remaining.zero();
}

asio::awaitable<void> command_run::renew_for_ever()
{
    for (;;) {
        co_await pause(100ms);
        renew();
        in_.guardian.keep_going();
    }
}

asio::awaitable<void> command_run::watch_loss()
{
    const auto done_before = in_.bound.work_done();
    loss_ = co_await held_.wait_lost();
    const bool is_started = !in_.bound.forbid_start();
    const bool is_safe = loss_ == errc::safe_until_passed;
    // Behind the bound there is the safety margin: the guardian knows the bound. Otherwise there is no time left.
    if (!is_safe) {
        in_.guardian.tell({message_kind::kill});
    }
    if (!is_started || start_heard_) {
        say_lost(is_started ? "; ending the command" : "; the command is not started");
    }
    // A guardian that works takes as long as the kernel does: a large process needs a while to end, and one of another user
    // may run for hours. One that does not, because somebody keeps it stopped, is replaced.
    constexpr std::chrono::nanoseconds for_each = 1s;
    const auto for_first = is_safe ? in_.terms.margin - ending_terms::for_sigkill / 2
                                   : std::chrono::nanoseconds{ending_terms::for_sigkill};
    co_await pause(for_first);
    for (auto seen = done_before; seen != in_.bound.work_done();) {
        seen = in_.bound.work_done();
        co_await pause(for_each);
    }
    in_.guardian.kill();
    co_await wait_for_ever();
}

void command_run::say_lost(const char* what_follows)
{
    if (!std::exchange(lost_said_, true)) {
        in_.say.lost("the lock is lost: " + loss_.message() + what_follows, in_.shard);
    }
}

void command_run::say_refused(int number)
{
    if (!std::exchange(refused_said_, true)) {
        in_.say.note("refused",
                     "another user's processes cannot be ended (" + std::to_string(number) +
                         "): the lock is kept until they have ended by themselves, or "
                         "is lost while they run; end them, or run colock as that user",
                     importance::trouble, in_.shard);
    }
}

asio::awaitable<void> command_run::pass_on_revocation()
{
    co_await held_.wait_revoked();
    pass_on(SIGTERM);
    in_.say.note("revoked", "a client asks for the lock: SIGTERM for the command",
                 importance::news);
    co_await wait_for_ever();
}

asio::awaitable<void> command_run::end_by_force()
{
    co_await in_.guardian.end_by_force([this](int number) { say_refused(number); });
}

asio::awaitable<run_result> command_run::hear_guardian()
{
    run_result result;
    for (;;) {
        const auto said = co_await in_.guardian.next();
        if (!said) {
            co_await end_by_force();
            result.guardian_lost = true;
            co_return result;
        }
        switch (said->kind) {
        case message_kind::started:
            if (in_.shell_job) {
                in_.shell_job->started(said->value);
            }
            in_.say.started(said->value, in_.shard);
            start_heard_ = true;
            if (loss_) {
                say_lost("; ending the command");
            }
            break;
        case message_kind::cannot_start:
            late_ = said->value == ETIME;
            result.start_error = late_ ? 0 : said->value;
            co_return result;
        case message_kind::stopped:
            if (in_.shell_job && in_.shell_job->stopped(said->value, [this] {
                    in_.say.note("stopped",
                                 "stopped; the lock is lost, and the command killed, unless it "
                                 "goes on within " +
                                     shown(in_.bound.until() - boot_time()));
                    in_.say.settle(); // the shell writes next
                })) {
                pass_on(SIGCONT);
            }
            break;
        case message_kind::ended:
            end_heard_ = true;
            if (in_.shell_job) {
                in_.shell_job->take_terminal_back();
            }
            break;
        case message_kind::left_behind:
            in_.say.left_behind(said->value, said->text, in_.shard);
            break;
        case message_kind::refused: say_refused(said->value); break;
        case message_kind::over:
            result.wait_status = said->value;
            late_ = !said->text.empty();
            co_return result;
        default: break;
        }
    }
}

} // namespace colock::cli
