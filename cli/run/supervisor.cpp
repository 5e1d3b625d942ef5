#include "run/supervisor.hpp"

#include <colock/diagnostics.hpp>
#include <colock/log.hpp>

#include "connect/awaiting.hpp"
#include "connect/duration.hpp"
#include "connect/session_guard.hpp"
#include "program/failure.hpp"
#include "program/text.hpp"
#include "run/command_run.hpp"
#include "run/events.hpp"
#include "run/guarded_session.hpp"
#include "run/guardian_link.hpp"
#include "run/job.hpp"
#include "run/lock_wait.hpp"
#include "run/outer_locks.hpp"
#include "run/own_ancestor.hpp"
#include "run/process_tree.hpp"
#include "run/record_node.hpp"
#include "run/start_command.hpp"
#include "run/tell_risk.hpp"
#include "run/tell_session.hpp"
#include "run/variables.hpp"
#include "run/work_switch.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace colock::cli {

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

// How all has ended.
struct outcome {
    int status = 0;
    std::string_view reason; // for machines
    std::string text = {};   // for people, where there is more to say
    int wait_status = 0;     // of the last command, if one has run, or of an interrupted wait
};

outcome outcome_of(const failure& f, int wait_status = 0)
{
    return {f.status(), f.reason(), f.what(), wait_status};
}

outcome outcome_of_command(int wait_status)
{
    return {status_of(wait_status), "command", {}, wait_status};
}

class supervisor {
public:
    // In this order: signals are looked at before anybody changes them, and the guardian is forked before there is a thread.
    explicit supervisor(const supervision& what)
        : what_{what}, guardian_{{find_command(what.words, what.shell), what.terms, bound_,
                                  inherited_, terminal_, what.shown, what.report.leave}},
          zk_{context_, guarded(what.servers, guardian_.consent(), warn_without_guard())},
          signals_{context_}, say_{what.program, paths_of(what.lock), what.report, what.manager}
    {
        ::signal(SIGPIPE, SIG_IGN); // a reader of our output that has gone
    }

    int run()
    {
        for (const int number : passed_on) {
            if (number != SIGTSTP && !inherited_.ignored(number)) { // a wait is stopped as usual
                signals_.add(number);
            }
        }
        hear_signals();
        asio::co_spawn(context_, what_.manager.keep_telling(), asio::detached);
        if (::getpid() == 1) {
            asio::co_spawn(context_, keep_going_for_ever(guardian_), asio::detached);
        }
        for (const auto& text : what_.warnings) {
            say_.note("warning", text);
        }
        outcome end;
        asio::co_spawn(
            context_, work(),
            asio::bind_cancellation_slot(stop_.slot(), [&](std::exception_ptr e, outcome result) {
                end = e ? outcome_of(failure_of(e)) : std::move(result);
                // Nobody takes it for a command that has not begun.
                if (was_cut_off_ && end.status != lost) {
                    end = outcome_of(failure{lost, "the command was ended because the lock was "
                                                   "lost, and got no other lock for its retry; do "
                                                   "not rely on what it did" +
                                                       (end.text.empty() ? "" : ": " + end.text)});
                }
                if (const auto* const s = std::get_if<stopping>(&phase_)) {
                    end = {signalled + s->number, word_for(signalled), {}, s->number};
                }
                phase_ = releasing{}; // what has happened is not changed by a signal
                asio::co_spawn(context_, leave(), asio::detached);
            }));
        context_.run();
        job_.take_terminal_back();
        say_.ended(end.status, end.reason, end.text);
        say_.finish();
        if (const int number = job_.ended_by_terminal(end.wait_status)) {
            job_.pass_on(number);
        }
        return end.status;
    }

private:
    // The client calls it once it connects: say_ is there then.
    warn warn_without_guard()
    {
        return [this](const std::string& why) { say_.note("warning", why, importance::detail); };
    }

    // Whom signals are for.
    struct waiting {};
    struct recording {
    };                // the run: a signal waits for the servers' answer, so that the record is true
    struct stopping { // a wait that a signal has ended
        int number;
    };
    struct running {
        command_run* run;
    };
    struct releasing {};

    void hear_signals()
    {
        signals_.async_wait([this](const error_code& ec, int number) {
            if (ec) {
                return;
            }
            asked_to_end_ = asked_to_end_ || asks_to_end(number);
            if (const auto* const r = std::get_if<running>(&phase_)) {
                r->run->pass_on(number);
            } else if (std::holds_alternative<recording>(phase_)) {
                if (asks_to_end(number)) {
                    phase_ = stopping{number};
                    leave_soon();
                }
            } else if (!std::holds_alternative<waiting>(phase_)) {
                if (asks_to_end(number)) {
                    leave_soon();
                }
            } else if (number != SIGWINCH && number != SIGTSTP) {
                phase_ = stopping{number};
                stop_.emit(asio::cancellation_type::terminal);
            }
            hear_signals();
        });
    }

    asio::awaitable<outcome> work()
    {
        co_await connect();
        // Of the wait, which a switch that is turned does not begin anew.
        std::optional begin{steady::now()};
        if (!co_await look_above(*begin)) {
            co_return no_lock();
        }
        restart_pauses pauses;
        bool has_run = false; // the command, once
        for (;;) {
            if (zk_.state() == connection_state::idle) { // a server has refused this client
                co_await connect();
            }
            begin = begin.value_or(steady::now());
            const auto began = *begin;
            if (!co_await wait_.until_switched_on(began)) {
                co_return no_lock();
            }
            auto got = co_await wait_.for_lock(began);
            if (!got) { // switched off
                continue;
            }
            if (!got->error && !got->held) {
                co_await wait_.name_leader();
                co_return no_lock();
            }
            if (got->held && what_.job.need_record()) {
                if (auto none = co_await look_at_record(got->held, began)) {
                    co_return std::move(*none);
                }
            }
            begin.reset();
            const auto granted = steady::now();
            const auto result =
                got->error ? lost_at_once(got->error) : co_await run_under(got->held);
            has_run = has_run || (result.started && !result.start_error);
            if (result.started) {
                was_cut_off_ = static_cast<bool>(result.loss);
            }
            if (result.guardian_lost && !result.loss) {
                throw failure{usage, "somebody killed the guardian, so the command was killed, too",
                              guardian_killed};
            }
            if (!result.loss && result.switched_off && !asked_to_end_) {
                wait_again();
                continue;
            }
            if (!result.loss && shall_restart(result, has_run) && may_retry()) {
                const auto time = pauses.next(steady::now() - granted);
                wait_again();
                say_.note("retry", how_ended(result) + "; it stands again in " + shown(time) +
                                       retry_number());
                co_await pause(time);
                continue;
            }
            if (result.start_error && !result.loss) {
                throw failure{not_executable, how_ended(result)};
            }
            if (!result.loss) {
                co_return result.held_too_long
                    ? outcome{timed_out, "held_too_long",
                              "the command was ended after " + shown(*what_.max_hold) +
                                  " (--max-hold)",
                              result.wait_status}
                    : outcome_of_command(result.wait_status);
            }
            const auto reason = "the lock was lost (" + result.loss.message() + ')';
            if (result.guardian_lost || asked_to_end_ ||
                job_.ended_by_terminal(result.wait_status) || !may_retry()) {
                const failure f{lost, result.started ? "the command was ended because " + reason +
                                                           "; do not rely on what it did"
                                                     : reason + " before the command was started"};
                co_return outcome_of(f, result.wait_status);
            }
            wait_again();
            say_.note("retry", reason + what_follows(result) + retry_number());
        }
    }

    // At the locks around this one, and at the list above it. False when the time is over before that.
    asio::awaitable<bool> look_above(steady::time_point began)
    {
        constexpr std::chrono::milliseconds least = 2s; // as for a connection
        const auto over =
            what_.limit ? began + std::max(*what_.limit, least) : steady::time_point::max();
        const auto first = co_await first_of(refuse_and_take_list(), pause_until(over));
        if (first.index() == 1) {
            wait_.explain_silence();
        }
        co_return first.index() == 0;
    }

    asio::awaitable<void> refuse_and_take_list()
    {
        co_await refuse_own_ancestor(zk_, what_.lock, outer_);
        if (what_.list_of_parent) {
            auto list = co_await list_above(zk_, what_.lock);
            record_.give(list);
            what_.lock.acl = std::move(list);
        }
    }

    // Behind a run, when there is to be another one.
    void wait_again()
    {
        job_.waits();
        phase_ = waiting{};
        leave_.expires_at(steady::time_point::max());
    }

    [[nodiscard]] std::string how_ended(const run_result& result) const
    {
        return result.start_error
                   ? cannot_start('"' + what_.words.front() + '"', result.start_error)
                   : "the command has ended with status " +
                         std::to_string(outcome_of_command(result.wait_status).status);
    }

    [[nodiscard]] std::string what_follows(const run_result& result) const
    {
        return !result.started      ? "; the command is started with the next lock"
               : what_.job.once_per ? "; the job's record decides with the next lock whether the "
                                      "command is started again"
                                    : "; the command is started again with the next lock";
    }

    // A command that has run before, and cannot be started now, has failed: a deployment may be replacing its file.
    [[nodiscard]] bool shall_restart(const run_result& result, bool has_run) const
    {
        if (result.start_error && !has_run) {
            return false;
        }
        const bool is_wanted = what_.candidate.again == restart::always ||
                               (what_.candidate.again == restart::on_failure &&
                                (result.wait_status != 0 || result.start_error));
        return is_wanted && !asked_to_end_ && !job_.ended_by_terminal(result.wait_status);
    }

    bool may_retry() { return retries_ != what_.retries && ++retries_; }

    [[nodiscard]] std::string retry_number() const
    {
        const auto number = " (retry " + std::to_string(retries_);
        return what_.retries == without_limit
                   ? number + ')'
                   : number + " of " + std::to_string(what_.retries) + ')';
    }

    // Never returns.
    asio::awaitable<void> end_when_off(command_run& run, bool& is_off)
    {
        if (what_.candidate.enabled_by.empty()) {
            co_await wait_for_ever();
        }
        const auto why = co_await wait_until_off(zk_, what_.candidate.enabled_by);
        co_await until_running(run);
        is_off = true;
        run.end();
        say_.note("paused", why + ": ending the command", importance::news);
        co_await wait_for_ever();
    }

    asio::awaitable<void> connect()
    {
        const auto deadline = what_.limit && *what_.limit > 0ms ? steady::now() + *what_.limit
                                                                : steady::time_point::max();
        for (;;) {
            diagnostics why;
            const auto [ec] = co_await zk_.async_connect(bind_diagnostics(why, no_throw));
            if (!ec) {
                tell_session(context_, zk_, what_, say_);
                co_return;
            }
            const auto failed = failure_of(ec, why.message());
            if (failed.status() != no_zookeeper || steady::now() >= deadline || !may_retry()) {
                throw failure{failed};
            }
            say_.note("retry", std::string{failed.what()} + "; connecting again" + retry_number());
        }
    }

    outcome no_lock()
    {
        const auto status = what_.limit && *what_.limit <= 0ms ? busy : timed_out;
        const std::string reason{word_for(status)};
        say_.note(reason, wait_.why_not(), importance::news);
        return {what_.busy_status.value_or(status), word_for(status)};
    }

    // Nothing when the command may start; also when the lock is lost, which is noticed then.
    asio::awaitable<std::optional<outcome>> look_at_record(const holding& held,
                                                           steady::time_point began)
    {
        const auto over =
            what_.limit && *what_.limit > 0ms ? began + *what_.limit : steady::time_point::max();
        for (;;) {
            phase_ = recording{};
            auto first = co_await first_of(record_.begin(held, what_.job), held.wait_lost(),
                                           until_over(over), until_leaving());
            auto* const found = std::get_if<record_node::verdict>(&first);
            if (std::holds_alternative<stopping>(phase_)) {
                if (found && std::holds_alternative<record_node::started>(*found)) {
                    co_await write_end(held, false);
                }
                co_return outcome{};
            }
            phase_ = waiting{};
            if (first.index() == 2) {
                wait_.explain_silence();
                co_return no_lock();
            }
            if (!found) {
                co_return std::nullopt;
            }
            if (std::holds_alternative<record_node::lost>(*found)) {
                co_await held.wait_lost();
                co_return std::nullopt;
            }
            if (const auto* const s = std::get_if<record_node::started>(found)) {
                if (!s->warning.empty()) {
                    say_.note("warning", s->warning);
                }
                co_return std::nullopt;
            }
            if (const auto* const done = std::get_if<has_run>(found)) {
                if (was_cut_off_) {
                    throw failure{lost, "the command was ended because the lock was lost; it does "
                                        "not run again in this period (--again-after-crash)"};
                }
                // The machine on which it failed has said so. Of a crash nobody has told.
                const bool has_crashed = done->ended == run_record::result::none;
                say_.note("has_run", text_of(*done),
                          has_crashed ? importance::trouble : importance::detail, {},
                          {{"ended", word_for(done->ended)}});
                co_return outcome{success, "has_run"};
            }
            const auto time = std::get<record_node::held_back>(*found).time;
            if (!co_await wait_held_back(held, time, over)) {
                co_return no_lock();
            }
        }
    }

    // A run that may be written down is not given up for want of time: the loss of the lock ends the wait for the servers.
    asio::awaitable<void> until_over(steady::time_point limit)
    {
        co_await pause_until(limit);
        while (record_.is_undecided()) {
            co_await pause(10ms);
        }
    }

    // False when that is not worth it, or somebody asks for the lock.
    asio::awaitable<bool> wait_held_back(const holding& held, std::chrono::milliseconds time,
                                         steady::time_point over)
    {
        const auto path = printable(what_.lock.path);
        wait_.explain(path + " is kept by its last run for another " + shown(time) +
                      " (--hold-at-least)");
        const bool is_try = what_.limit && *what_.limit <= 0ms;
        if (is_try || steady::now() + time >= over) {
            co_return false;
        }
        say_.note_of_wait("held_back", wait_.why_not());
        const time_left remaining = [&] { return held.remaining(); };
        const auto ended = co_await first_of(pause(time), held.wait_lost(), held.wait_revoked(),
                                             tell_risk(zk_, say_, remaining));
        const bool is_asked_for = ended.index() == 2;
        if (is_asked_for) {
            wait_.explain("a client asks for " + path +
                          ", which its last run keeps (--hold-at-least)");
        }
        co_return !is_asked_for;
    }

    // The command has ended as it has, whatever becomes of this.
    asio::awaitable<void> write_end(const holding& held, bool is_success)
    {
        std::string why = "no server has answered";
        try {
            const auto done =
                co_await first_of(record_.end(held, is_success), held.wait_lost(), until_leaving());
            const auto* const is_written = std::get_if<bool>(&done);
            if (is_written && *is_written) {
                co_return;
            }
            if (is_written != nullptr || held.loss_reason()) {
                why = held.loss_reason() ? "the lock was lost"
                                         : "the record is gone, or that of another run";
            }
        } catch (const failure& f) {
            why = f.what();
        }
        say_.note("unrecorded", "how the command has ended is not written down: " + why);
    }

    // Does not return once the command has ended.
    static asio::awaitable<void> until_running(const command_run& run)
    {
        while (!run.is_running()) {
            co_await pause(10ms);
        }
    }

    // Never returns.
    asio::awaitable<void> limit_hold(command_run& run, bool& is_over)
    {
        if (what_.max_hold) {
            co_await pause(*what_.max_hold);
            co_await until_running(run); // a slow start outlasts a short time
            is_over = true;
            run.end();
        }
        co_await wait_for_ever();
    }

    run_result lost_at_once(const error_code& loss)
    {
        say_.lost("the lock is lost: " + loss.message() + "; the command is not started");
        return {.loss = loss};
    }

    asio::awaitable<run_result> run_under(holding& held)
    {
        adopt_orphans();
        command_run run{{guardian_, bound_, &job_, say_, what_.terms}, held};
        phase_ = running{&run}; // a signal reaches the guardian after the start
        std::exception_ptr failed;
        run_result result;
        try {
            bool too_long = false;
            bool is_off = false;
            const time_left remaining = [&] { return held.remaining(); };
            auto first =
                co_await first_of(run.carry_out(environment(held)), limit_hold(run, too_long),
                                  end_when_off(run, is_off), tell_risk(zk_, say_, remaining));
            result = std::get<0>(first);
            result.held_too_long = too_long;
            result.switched_off = is_off;
        } catch (...) {
            failed = std::current_exception();
        }
        phase_ = releasing{};
        if (failed) {
            std::rethrow_exception(failed);
        }
        job_.take_terminal_back();
        if (result.was_killed()) {
            job_.restore_modes();
        }
        if (asked_to_end_) {
            leave_soon();
        }
        if (result.started) {
            record_.command_started();
        }
        if (what_.job.need_record() && !result.loss) {
            co_await write_end(held, result.started && !result.start_error &&
                                         !result.guardian_lost && !result.held_too_long &&
                                         result.wait_status == 0);
        }
        leave_soon();
        if (result.started && !result.start_error && !result.guardian_lost) {
            say_.exited(outcome_of_command(result.wait_status).status,
                        !result.loss && !result.held_too_long && !result.switched_off);
        }
        const bool is_last = what_.retries == 0 && what_.candidate.enabled_by.empty();
        auto release = is_last ? end_session() : held.release(); // GCC 12: not within co_await
        const auto released = co_await first_of(std::move(release), until_leaving());
        const auto* const ended = std::get_if<error_code>(&released);
        if (!result.loss) {
            tell_release(ended && (is_last ? !*ended : *ended != errc::safe_until_passed));
        }
        co_return result;
    }

    void tell_release(bool confirmed)
    {
        say_.released(confirmed, "no server has confirmed the release; the next one can have the "
                                 "lock when the session ends, " +
                                     shown(zk_.session_timeout()) +
                                     " after the servers have last heard of it");
    }

    // Releases the lock in one request, where another lock would not be asked for.
    asio::awaitable<error_code> end_session()
    {
        const auto [ec] = co_await zk_.async_close(no_throw);
        co_return ec;
    }

    // The servers may be silent when all is done. Then the session's time-out does the rest.
    void leave_soon()
    {
        const auto limit =
            asked_to_end_ ? std::min(hurry, what_.release_limit) : what_.release_limit;
        leave_.expires_at(std::min(leave_.expiry(), steady::now() + limit));
    }

    asio::awaitable<void> until_leaving()
    {
        while (steady::now() < leave_.expiry()) { // which may have been moved
            co_await leave_.async_wait(no_throw);
        }
    }

    asio::awaitable<void> leave()
    {
        leave_soon();
        const auto closed = co_await first_of(end_session(), until_leaving());
        if (say_.owes_release()) { // no command was started
            const auto* const ended = std::get_if<error_code>(&closed);
            tell_release(ended && !*ended);
        }
        context_.stop();
    }

    [[nodiscard]] std::vector<variable> environment(const holding& held) const
    {
        // Without one, that of a colock which runs this one is none.
        const auto unless_empty = [](std::string text) {
            return text.empty() ? std::nullopt : std::optional{std::move(text)};
        };
        std::string paths, tokens;
        if (!what_.lock.more.empty()) {
            paths = joined(each_of(what_.lock), "\t", &lock_choice::path);
            tokens = joined(held.tokens(), "\t");
        }
        return {{"COLOCK_PATH", what_.lock.path},
                {"COLOCK_PATHS", unless_empty(std::move(paths))},
                {"COLOCK_NODE", held.node()},
                {"COLOCK_NODES", nodes_for_command(outer_, held.nodes())},
                {"COLOCK_SAFE_UNTIL", safe_until_text(held)},
                {"COLOCK_TOKEN", unless_empty(held.token())},
                {"COLOCK_TOKENS", unless_empty(std::move(tokens))}};
    }

    supervision what_; // with the list of the lock, once that is known
    const std::vector<std::string> outer_ = outer_nodes();
    const inherited_signals inherited_;
    const terminal terminal_;
    shared_bound bound_;
    guardian_link guardian_;
    // After the guardian, whose command has the zone of before; before there is a thread.
    const process_zone zone_{what_.job.once_per ? what_.job.once_per->zone() : ""};
    asio::io_context context_{1};
    client zk_;
    asio::signal_set signals_;
    job job_{inherited_, terminal_, signals_};
    asio::cancellation_signal stop_;
    std::variant<waiting, recording, stopping, running, releasing> phase_;
    // Never, while there is something to do.
    asio::steady_timer leave_{context_, steady::time_point::max()};
    std::uint64_t retries_ = 0;
    record_node record_{zk_, what_.lock.path};
    events say_;
    lock_wait wait_{zk_, what_, outer_, record_, say_};
    bool asked_to_end_ = false; // by a signal
    bool was_cut_off_ = false;  // the last command, by the loss of its lock
};

} // namespace

int supervise(const supervision& what)
{
    if (!what.keep_identity) {
        forget_secrets();
    }
    supervisor s{what};
    return s.run();
}

} // namespace colock::cli
