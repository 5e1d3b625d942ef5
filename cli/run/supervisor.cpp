#include "run/supervisor.hpp"

#include <colock/diagnostics.hpp>
#include <colock/log.hpp>

#include "connect/awaiting.hpp"
#include "connect/duration.hpp"
#include "program/failure.hpp"
#include "run/boot_time.hpp"
#include "run/events.hpp"
#include "run/guardian_link.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

namespace colock::cli {

namespace {

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

int status_of(int wait_status)
{
    return WIFSIGNALED(wait_status) ? signalled + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

std::string until_as_text(steady::duration remaining)
{
    const auto until = std::chrono::system_clock::now().time_since_epoch() + remaining;
    char text[40];
    std::snprintf(text, sizeof text, "%.3f", std::chrono::duration<double>(until).count());
    return text;
}

volatile std::sig_atomic_t continued = 0;

// How one run of the command has ended.
struct run_result {
    int wait_status = 0;
    bool late = false; // something was left at the bound
    bool guardian_lost = false;
    int start_error = 0;  // errno, when the command could not be started
    error_code loss = {}; // why the lock was lost, if it was
};

class supervisor {
public:
    // In this order: signals are looked at before anybody changes them, and the guardian is forked before there is a thread.
    explicit supervisor(const supervision& what)
        : what_{what}, guardian_{{find_command(what.words, what.shell), what.terms, bound_,
                                  inherited_, terminal_}},
          zk_{context_, what.servers}, signals_{context_}, deadline_{steady::time_point::max()},
          say_{what.program, what.lock.path, what.json}
    {
        ::signal(SIGPIPE, SIG_IGN); // a reader of our output that has gone
        if (what.limit && *what.limit > 0ms) {
            deadline_ = steady::now() + *what.limit;
        }
    }

    int run()
    {
        for (const int number : passed_on) {
            if (number != SIGTSTP && !inherited_.ignored(number)) { // a wait is stopped as usual
                signals_.add(number);
            }
        }
        hear_signals();
        std::exception_ptr failed;
        int status = 0;
        asio::co_spawn(
            context_, work(),
            asio::bind_cancellation_slot(stop_.slot(), [&](std::exception_ptr e, int result) {
                phase_ = phase::releasing; // what has happened is not changed by a signal
                failed = e;
                status = result;
                zk_.async_close([this](const error_code&) { signals_.cancel(); });
            }));
        context_.run();
        take_terminal_back();
        if (was_killed_) {
            terminal_.restore_modes();
        }
        if (stopped_by_) {
            status = signalled + *stopped_by_;
        } else if (failed) {
            std::rethrow_exception(failed);
        }
        say_.ended(status);
        pass_on_end_by_terminal(status);
        return status;
    }

private:
    void take_terminal_back() { had_terminal_ = terminal_.take_back(group_) || had_terminal_; }

    // Ctrl-C went to the command's group alone. The others on this side of the terminal, such as a script that would start
    // the next command, hear of it now.
    void pass_on_end_by_terminal(int status)
    {
        const int number = status - signalled;
        if (terminal_.in_foreground() && group_ != 0 && (number == SIGINT || number == SIGQUIT)) {
            signals_.clear();
            if (had_terminal_) {
                ::kill(0, number);
            } else {
                ::raise(number);
            }
        }
    }

    void hear_signals()
    {
        signals_.async_wait([this](const error_code& ec, int number) {
            if (ec) {
                return;
            }
            asked_to_end_ = asked_to_end_ || asks_to_end(number);
            switch (phase_) {
            case phase::running: guardian_.tell({message_kind::pass_on, number}); break;
            case phase::releasing: break; // which takes no longer than the lock is safe
            case phase::waiting:
                if (number != SIGWINCH && number != SIGTSTP) {
                    stopped_by_ = number;
                    stop_.emit(asio::cancellation_type::terminal);
                }
            }
            hear_signals();
        });
    }

    asio::awaitable<int> work()
    {
        co_await connect();
        co_await refuse_own_ancestor();
        for (std::uint64_t retry = 0;; ++retry) {
            std::optional<holding> held = co_await wait_for_lock();
            if (!held) {
                co_return no_lock();
            }
            const auto result = co_await run_under(*held);
            if (result.loss && (retry == what_.retries || result.guardian_lost || asked_to_end_)) {
                throw failure{lost, "the command was ended because the lock was lost (" +
                                        result.loss.message() + "); do not rely on what it did"};
            }
            if (result.guardian_lost) {
                throw failure{usage,
                              "somebody killed the guardian, so the command was killed, too"};
            }
            if (result.start_error) {
                throw failure{not_executable,
                              "\"" + what_.words.front() +
                                  "\" cannot be started: " + std::strerror(result.start_error)};
            }
            if (!result.loss) {
                co_return status_of(result.wait_status);
            }
            phase_ = phase::waiting;
            say_.note("retry", "the command is started again with the next lock");
        }
    }

    asio::awaitable<void> connect()
    {
        diagnostics why;
        const auto [ec] = co_await zk_.async_connect(bind_diagnostics(why, no_throw));
        if (ec) {
            throw failure_of(ec, why.message());
        }
    }

    // A command of `colock run` that waits for the lock under which it runs would wait for ever.
    asio::awaitable<void> refuse_own_ancestor()
    {
        const char* const outer = std::getenv("COLOCK_NODE");
        if (!outer || !std::string_view{outer}.starts_with(what_.lock.path + '/') ||
            std::string_view{outer}.find('/', what_.lock.path.size() + 1) !=
                std::string_view::npos) {
            co_return;
        }
        const auto [ec, found] = co_await zk_.async_exists(outer, no_throw);
        if (!ec && found && !std::holds_alternative<as_reader>(what_.lock.kind) &&
            !std::holds_alternative<as_permits>(what_.lock.kind)) {
            throw failure{usage, what_.lock.path + " is held by the colock run that runs this "
                                                   "command, which would wait for itself; take "
                                                   "another path, or leave the inner lock out"};
        }
    }

    asio::awaitable<std::optional<holding>> wait_for_lock()
    {
        auto limit = what_.limit;
        if (deadline_ != steady::time_point::max()) {
            limit = std::max(
                0ms, std::chrono::ceil<std::chrono::milliseconds>(deadline_ - steady::now()));
        }
        auto first = co_await (acquire(zk_, what_.lock, limit) || show_wait());
        auto& a = std::get<acquired>(first);
        if (a.error == errc::invalid_option) {
            throw failure{usage,
                          printable(a.why) + "; shorten --grace, or raise --session-timeout"};
        }
        if (a.error) {
            throw failure_of(a.error, a.why);
        }
        why_busy_ = std::move(a.why);
        if (!a.held) {
            co_return std::nullopt;
        }
        say_.granted(a.held.node(), a.held.token());
        co_return std::move(a.held);
    }

    // Never returns.
    asio::awaitable<void> show_wait()
    {
        asio::steady_timer next{context_};
        for (;;) {
            next.expires_after(say_.wants_wait() ? 1s : std::chrono::hours{1});
            co_await next.async_wait(asio::use_awaitable);
            if (say_.wants_wait() && zk_.state() == connection_state::connected) {
                try {
                    const auto queue = co_await view(zk_, what_.lock);
                    say_.waiting(queue, zk_.session_id());
                } catch (const boost::system::system_error&) {
                    // The acquisition itself tells what is wrong.
                }
            }
        }
    }

    int no_lock()
    {
        const bool is_try = what_.limit && *what_.limit <= 0ms;
        say_.note(is_try ? "busy" : "timed_out",
                  why_busy_.empty() ? printable(what_.lock.path) + " was not granted" : why_busy_);
        return what_.busy_status.value_or(is_try ? busy : timed_out);
    }

    asio::awaitable<run_result> run_under(holding& held)
    {
        loss_.clear();
        run_result result;
        if (renew(held)) {
            phase_ = phase::running; // a signal reaches the guardian behind the start
            guardian_.tell({message_kind::start, 0, environment(held)});
            try {
                // None but the first ever returns.
                auto first = co_await (hear_guardian() || renew_for_ever(held) ||
                                       watch_loss(held) || pass_on_revocation(held));
                result = std::get<0>(first);
            } catch (...) {
                guardian_.end_by_force(); // nothing may run when the lock goes
                throw;
            }
        }
        phase_ = phase::releasing;
        // From here on nothing runs: a release that fails does no harm to what the command did.
        if (!loss_) {
            loss_ = held.loss_reason();
        }
        if (!loss_ && (result.late || held.remaining() == held.remaining().zero())) {
            loss_ = errc::safe_until_passed;
        }
        result.loss = loss_;
        was_killed_ = result.loss || result.guardian_lost || WIFSIGNALED(result.wait_status);
        take_terminal_back();
        co_await held.release();
        co_return result;
    }

    // False when the lock is lost: then the bound stays as it was, in the past. The time that is left is asked for last. Should
    // this process be stopped in between, the bound is too early, which is safe.
    bool renew(const holding& held)
    {
        const auto now = boot_time();
        const auto remaining = held.remaining();
        if (remaining > remaining.zero()) {
            bound_.renew(now + remaining);
        }
        return remaining > remaining.zero();
    }

    asio::awaitable<void> renew_for_ever(holding& held)
    {
        asio::steady_timer next{context_};
        for (;;) {
            next.expires_after(100ms);
            co_await next.async_wait(asio::use_awaitable);
            renew(held);
            guardian_.keep_going();
        }
    }

    asio::awaitable<void> watch_loss(holding& held)
    {
        loss_ = co_await held.wait_lost();
        say_.note("lost", "the lock is lost: " + loss_.message() + "; ending the command");
        // Behind the bound there is the safety margin: the guardian knows the bound. Otherwise there is no time left.
        if (loss_ != errc::safe_until_passed) {
            guardian_.tell({message_kind::kill});
        }
        asio::steady_timer patience{context_,
                                    loss_ == errc::safe_until_passed
                                        ? what_.terms.margin - ending_terms::for_sigkill / 2
                                        : ending_terms::for_sigkill};
        co_await patience.async_wait(asio::use_awaitable);
        guardian_.end_by_force(); // somebody has stopped it
        patience.expires_at(steady::time_point::max());
        co_await patience.async_wait(asio::use_awaitable);
    }

    asio::awaitable<void> pass_on_revocation(holding& held)
    {
        co_await held.wait_revoked();
        say_.note("revoked", "a client asks for the lock: SIGTERM for the command");
        guardian_.tell({message_kind::pass_on, SIGTERM});
        co_await wait_for_ever();
    }

    asio::awaitable<run_result> hear_guardian()
    {
        run_result result;
        for (;;) {
            const auto said = co_await guardian_.next();
            if (!said) {
                guardian_.end_by_force();
                result.guardian_lost = true;
                co_return result;
            }
            switch (said->kind) {
            case message_kind::started:
                group_ = said->value;
                if (!inherited_.ignored(SIGTSTP)) {
                    signals_.add(SIGTSTP);
                }
                say_.started(said->value);
                break;
            case message_kind::cannot_start:
                result.late = said->value == ETIME;
                result.start_error = result.late ? 0 : said->value;
                co_return result;
            case message_kind::stopped: stop_with(said->value); break;
            case message_kind::ended: take_terminal_back(); break;
            case message_kind::refused:
                say_.note("refused",
                          "another user's processes cannot be ended (" +
                              std::to_string(said->value) +
                              "): the lock is kept until they have ended by themselves, or is "
                              "lost while they run; end them, or run colock as that user");
                break;
            case message_kind::over:
                result.wait_status = said->value;
                result.late = !said->text.empty();
                co_return result;
            default: break;
            }
        }
    }

    void stop_with(int number)
    {
        if (number == SIGSTOP) {
            return; // by somebody who will continue it
        }
        const bool asks_for_terminal = number == SIGTTIN || number == SIGTTOU;
        if (!asks_for_terminal || !terminal_.in_foreground()) {
            take_terminal_back();
            if (terminal_.in_foreground()) {
                say_.note("stopped",
                          "stopped; the lock is lost, and the command killed, unless it goes on "
                          "within " +
                              shown(bound_.until() - boot_time()));
            }
            // Where no shell could continue it, the kernel stops nobody. Then the command goes on after Ctrl-Z.
            if (!stop_own_group() && asks_for_terminal) {
                return;
            }
        }
        terminal_.give_to(group_);
        guardian_.tell({message_kind::pass_on, SIGCONT});
    }

    // The command was stopped from the terminal: so is the job that the shell knows, until `fg` or `bg`. True when it was
    // continued.
    bool stop_own_group()
    {
        if (inherited_.ignored(SIGTSTP)) {
            return false;
        }
        continued = 0;
        struct sigaction note {};
        note.sa_handler = [](int) { continued = 1; };
        note.sa_flags = SA_RESTART;
        struct sigaction before {};
        ::sigaction(SIGCONT, &note, &before);
        signals_.remove(SIGTSTP);
        ::kill(0, SIGTSTP);
        signals_.add(SIGTSTP);
        ::sigaction(SIGCONT, &before, nullptr);
        return continued != 0;
    }

    [[nodiscard]] std::string environment(const holding& held) const
    {
        std::string lines = "COLOCK_PATH=" + what_.lock.path + "\nCOLOCK_NODE=" + held.node() +
                            "\nCOLOCK_SAFE_UNTIL=" + until_as_text(held.remaining()) + '\n';
        const auto token = held.token();
        if (!token.empty()) {
            lines += "COLOCK_TOKEN=" + token + '\n';
        }
        return lines;
    }

    const supervision& what_;
    const inherited_signals inherited_;
    const terminal terminal_;
    shared_bound bound_;
    guardian_link guardian_;
    asio::io_context context_{1};
    client zk_;
    asio::signal_set signals_;
    asio::cancellation_signal stop_;
    std::optional<int> stopped_by_; // while there was no command
    steady::time_point deadline_;
    events say_;
    std::string why_busy_;
    enum class phase {
        waiting,
        running,
        releasing
    } phase_ = phase::waiting;  // whom signals are for
    pid_t group_ = 0;           // of the last command
    bool had_terminal_ = false; // that group
    bool was_killed_ = false;   // the last command, or something of it
    bool asked_to_end_ = false; // by a signal
    error_code loss_;
};

} // namespace

int supervise(const supervision& what)
{
    supervisor s{what};
    return s.run();
}

} // namespace colock::cli
