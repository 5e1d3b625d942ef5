#include "run/shard_supervisor.hpp"

#include <colock/diagnostics.hpp>

#include "connect/awaiting.hpp"
#include "connect/run_client.hpp"
#include "connect/session_guard.hpp"
#include "connect/until_signal.hpp"
#include "program/failure.hpp"
#include "run/command_run.hpp"
#include "run/events.hpp"
#include "run/guarded_session.hpp"
#include "run/nursery.hpp"
#include "run/outer_locks.hpp"
#include "run/process_tree.hpp"
#include "run/start_command.hpp"
#include "run/tell_risk.hpp"
#include "run/tell_session.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::cli {

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

class shard_supervisor {
public:
    // In this order: signals are looked at before anybody changes them, and the nursery is forked before there is a thread.
    explicit shard_supervisor(const shard_supervision& what)
        : what_{what}, nursery_{{what.words, what.shell, what.terms, inherited_, what.shown}},
          zk_{context_, guarded(what.servers, nursery_.consent(), warn_without_guard())},
          signals_{context_}, shards_{zk_, what.path, what.shards}, say_{what.program, what.path,
                                                                         what.report, what.manager}
    {
        ::signal(SIGPIPE, SIG_IGN); // a reader of our output that has gone
    }

    int run()
    {
        for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2}) {
            if (!inherited_.ignored(number)) {
                signals_.add(number);
            }
        }
        hear_signals();
        asio::co_spawn(context_, what_.manager.keep_telling(), asio::detached);
        for (const auto& text : what_.warnings) {
            say_.note("warning", text);
        }
        int status = 0;
        std::string_view reason; // none: leave_soon() has ended it all
        std::string text;
        const auto end_as_asked = [&] {
            status = cut_short_ ? signalled + *cut_short_ : 0;
            reason = cut_short_ ? word_for(signalled) : "left";
        };
        asio::co_spawn(context_, work(),
                       asio::bind_cancellation_slot(stop_.slot(), [&](std::exception_ptr e) {
                           if (cut_short_ || asked_to_end_) {
                               end_as_asked(); // what has failed on the way out was ended, too
                           } else if (e) {
                               const auto f = failure_of(e);
                               status = f.status();
                               reason = f.reason();
                               text = f.what();
                           } else {
                               status = status_of(first_end_.value_or(0));
                               reason = "command";
                           }
                           asio::co_spawn(context_, close(), asio::detached);
                       }));
        context_.run();
        if (reason.empty()) {
            end_as_asked();
        }
        say_.ended(status, reason, text);
        say_.finish();
        if (cut_short_ && status == signalled + *cut_short_) {
            signals_.clear();
            end_by(*cut_short_);
        }
        return status;
    }

private:
    // The client calls it once it connects: say_ is there then.
    warn warn_without_guard()
    {
        return [this](const std::string& why) { say_.note("warning", why, importance::detail); };
    }

    void hear_signals()
    {
        signals_.async_wait([this](const error_code& ec, int number) {
            if (ec) {
                return;
            }
            if (!asks_to_end(number)) {
                for (auto* const each : runs_) {
                    each->pass_on(number);
                }
            } else if (!asked_to_end_) {
                asked_to_end_ = steady::now();
                leave(number);
            } else if (steady::now() - *asked_to_end_ >= 1s) { // timeout(1) sends each signal twice
                cut_short_ = number;
                stop_.emit(asio::cancellation_type::terminal);
            }
            hear_signals();
        });
    }

    // All shards to others, who take them over while the commands still work.
    void leave(int number)
    {
        if (!is_member_) {
            cut_short_ = number;
            stop_.emit(asio::cancellation_type::terminal);
            return;
        }
        shards_.async_leave(what_.leave_limit, [this](const error_code& ec) {
            if (ec == errc::not_held) { // it has not begun
                stop_.emit(asio::cancellation_type::terminal);
            }
        });
        asio::co_spawn(context_, leave_soon(), asio::detached);
    }

    // The library waits for servers that are silent until the shards are free by themselves.
    asio::awaitable<void> leave_soon()
    {
        do {
            while (!runs_.empty()) {
                co_await pause(20ms);
            }
            co_await pause(limit_of_release());
        } while (!runs_.empty()); // one was started once more
        context_.stop();
    }

    [[nodiscard]] std::chrono::milliseconds limit_of_release() const
    {
        return asked_to_end_ ? std::min(hurry, what_.release_limit) : what_.release_limit;
    }

    asio::awaitable<void> work()
    {
        co_await connect(zk_);
        tell_session(context_, zk_, what_, say_);
        adopt_orphans();
        asio::co_spawn(context_, keep_nursery_going(), [](const std::exception_ptr& failed) {
            if (failed) {
                std::rethrow_exception(failed);
            }
        });
        is_member_ = true;
        what_.manager.ready("takes part in " + what_.path);
        // The shards of one session are safe for the same time.
        const time_left remaining = [this] {
            return runs_.empty() ? std::nullopt : std::optional{runs_.front()->remaining()};
        };
        co_await first_of(be_member(), require_nursery(), tell_risk(zk_, say_, remaining));
    }

    asio::awaitable<void> be_member()
    {
        const auto body = [this](const owned_shard& mine) { return run_and_tell(mine); };
        diagnostics why;
        try {
            co_await shards_.async_run(body, bind_diagnostics(why, asio::use_awaitable));
        } catch (const boost::system::system_error& e) {
            // That of a shard's lock: the library has words for each other one.
            if (e.code() == errc::invalid_option && why.message().empty()) {
                throw failure{usage,
                              std::string{failure_of(e.code(), why.message()).what()} +
                                  "; a short --session-timeout leaves no room for the margin, "
                                  "which is --grace and half a second, unless told"};
            }
            throw failure_of(e.code(), why.message());
        }
    }

    // Returns only by throwing.
    asio::awaitable<void> require_nursery()
    {
        co_await nursery_.wait_gone();
        throw failure{usage, "the process that starts the guardians has ended, so there can be no "
                             "more commands"};
    }

    // Until the context stops: commands that are ended still need their guardians.
    asio::awaitable<void> keep_nursery_going()
    {
        for (;;) {
            co_await pause(100ms);
            nursery_.keep_going();
        }
    }

    // The body of a shard. It is cancelled when the shard moves, or is lost. Unless its end is that of the member, the library
    // keeps what it throws to itself.
    asio::awaitable<void> run_and_tell(const owned_shard& mine)
    {
        co_await asio::this_coro::throw_if_cancelled(false);
        const auto state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none) {
            co_return;
        }
        try {
            co_await run_for(mine);
        } catch (...) {
            if (what_.shards.when_body_ends != body_end::fail) {
                const auto f = failure_of(std::current_exception());
                say_.note("warning", f.what(), importance::trouble, mine.index());
            }
            throw;
        }
    }

    asio::awaitable<void> run_for(const owned_shard& mine)
    {
        const auto shard = mine.index();
        const holding held{static_cast<const held_lock*>(&mine.lock())};
        shared_bound bound{shared_bound::make_file()};
        const auto guardian = nursery_.make(shard, bound);
        command_run run{{*guardian, bound, nullptr, say_, what_.terms, shard}, held};
        say_.granted(held.node(), held.token(), shard);

        runs_.push_back(&run);
        asio::steady_timer over{context_, steady::time_point::max()};
        std::optional<run_result> result;
        std::exception_ptr failed;
        // Nothing of the command may be left when the lock goes, so the run itself is not cancelled.
        asio::co_spawn(context_, run.carry_out(environment(mine, held)),
                       [&](std::exception_ptr e, run_result r) {
                           failed = std::move(e);
                           result = r;
                           over.cancel();
                       });
        co_await over.async_wait(no_throw);
        const bool by_itself = result.has_value();
        co_await keep_on();
        if (!result) {
            run.end();
        }
        while (!result) {
            co_await over.async_wait(no_throw);
        }
        std::erase(runs_, &run);
        if (failed) {
            std::rethrow_exception(failed);
        }
        conclude(shard, *result, by_itself);
    }

    // What is thrown, and a return without a loss, is the end of a body to the library.
    void conclude(std::uint32_t shard, const run_result& result, bool by_itself)
    {
        if (result.started && !result.start_error) {
            say_.exited(status_of(result.guardian_lost ? SIGKILL : result.wait_status),
                        by_itself && !result.loss && !result.guardian_lost, shard);
        }
        if (result.loss || !by_itself) {
            return;
        }
        if (result.guardian_lost) {
            throw failure{usage,
                          "somebody killed the guardian of shard " + std::to_string(shard) +
                              ", so its command was killed, too",
                          guardian_killed};
        }
        if (result.start_error) {
            const bool is_missing = result.start_error == ENOENT && !result.started;
            throw failure{
                is_missing ? not_found : not_executable,
                cannot_start("the command of shard " + std::to_string(shard), result.start_error)};
        }
        first_end_ = first_end_.value_or(result.wait_status);
    }

    [[nodiscard]] std::vector<variable> environment(const owned_shard& mine,
                                                    const holding& held) const
    {
        return {{"COLOCK_PATH", what_.path},
                {"COLOCK_PATHS", std::nullopt}, // those of a colock that runs this one
                {"COLOCK_TOKENS", std::nullopt},
                {"COLOCK_SHARD", std::to_string(mine.index())},
                {"COLOCK_SHARDS", std::to_string(what_.shards.count)},
                {"COLOCK_NODE", held.node()},
                {"COLOCK_NODES", nodes_for_command(outer_, held.nodes())},
                {"COLOCK_SAFE_UNTIL", safe_until_text(held)},
                {"COLOCK_TOKEN", held.token()}};
    }

    // The servers may be silent. Then the session's time-out does the rest.
    asio::awaitable<void> close()
    {
        co_await first_of(zk_.async_close(no_throw), pause(limit_of_release()));
        context_.stop();
    }

    const shard_supervision& what_;
    const std::vector<std::string> outer_ = outer_nodes();
    const inherited_signals inherited_;
    nursery nursery_;
    asio::io_context context_{1};
    client zk_;
    asio::signal_set signals_;
    shards shards_;
    events say_;
    asio::cancellation_signal stop_;
    std::vector<command_run*> runs_;
    std::optional<steady::time_point> asked_to_end_;
    std::optional<int> cut_short_;
    std::optional<int> first_end_; // the wait status of the first command that has ended by itself
    bool is_member_ = false;
};

} // namespace

int supervise(const shard_supervision& what)
{
    if (!what.keep_identity) {
        forget_secrets();
    }
    // Or they would fail later, and again and again.
    static_cast<void>(find_command(words_for(0, what.words), what.shell));
    ::close(shared_bound::make_file());
    shard_supervisor s{what};
    return s.run();
}

} // namespace colock::cli
