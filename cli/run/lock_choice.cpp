#include "run/lock_choice.hpp"

#include <colock/diagnostics.hpp>
#include <colock/election.hpp>
#include <colock/mutex.hpp>
#include <colock/semaphore.hpp>
#include <colock/shared_mutex.hpp>

#include "connect/awaiting.hpp"

#include <boost/asio/use_awaitable.hpp>
namespace colock::cli {

namespace asio = boost::asio;

namespace {

// Too long for the clock: no limit.
constexpr auto no_limit = std::chrono::hours::max();

struct acquisition {
    client& zk;
    const lock_choice& choice;
    std::optional<std::chrono::milliseconds> limit;

    [[nodiscard]] lock_options options() const
    {
        lock_options o;
        o.safety_margin = choice.safety_margin;
        o.owner_data = choice.owner;
        return o;
    }

    template <class Guard>
    [[nodiscard]] static acquired result(error_code ec, Guard held, const diagnostics& why)
    {
        acquired a;
        // The time is over, and the servers are silent: `why` says so.
        a.error = ec == errc::no_answer ? error_code{} : ec;
        a.why = why.message();
        a.held = holding{std::move(held)};
        return a;
    }

    // At once, or within the limit, by these two operations.
    template <class Try, class TryFor>
    asio::awaitable<acquired> carry_out(Try at_once, TryFor within) const
    {
        diagnostics why;
        if (limit && *limit <= limit->zero()) {
            auto [ec, held] = co_await at_once(bind_diagnostics(why, no_throw));
            co_return result(ec, std::move(held), why);
        }
        if (limit) {
            auto [ec, held] = co_await within(*limit, bind_diagnostics(why, no_throw));
            co_return result(ec, std::move(held), why);
        }
        auto [ec, held] = co_await within(no_limit, bind_diagnostics(why, no_throw));
        co_return result(ec, std::move(held), why);
    }

    asio::awaitable<acquired> operator()(const as_mutex&) const
    {
        mutex m{zk, choice.path, options()};
        co_return co_await carry_out(
            [&m](auto token) { return m.async_try_lock(token); },
            [&m](auto time, auto token) { return m.async_try_lock_for(time, token); });
    }
    asio::awaitable<acquired> operator()(const as_reader&) const
    {
        shared_mutex m{zk, choice.path, options()};
        co_return co_await carry_out(
            [&m](auto token) { return m.async_try_lock_shared(token); },
            [&m](auto time, auto token) { return m.async_try_lock_shared_for(time, token); });
    }
    asio::awaitable<acquired> operator()(const as_writer&) const
    {
        shared_mutex m{zk, choice.path, options()};
        co_return co_await carry_out(
            [&m](auto token) { return m.async_try_lock(token); },
            [&m](auto time, auto token) { return m.async_try_lock_for(time, token); });
    }
    asio::awaitable<acquired> operator()(const as_permits& permits) const
    {
        semaphore s{zk, choice.path, permits.all, options()};
        const auto wanted = permits.wanted;
        co_return co_await carry_out(
            [&](auto token) { return s.async_try_acquire(wanted, token); },
            [&](auto time, auto token) { return s.async_try_acquire_for(wanted, time, token); });
    }
    asio::awaitable<acquired> operator()(const as_candidate&) const
    {
        election_options o;
        o.safety_margin = choice.safety_margin;
        election e{zk, choice.path, choice.owner, o};
        const auto stand = [&e](auto time, auto token) {
            return e.async_try_campaign_for(time, token);
        };
        co_return co_await carry_out([&](auto token) { return stand(limit->zero(), token); },
                                     stand);
    }
};

} // namespace

asio::awaitable<acquired> acquire(client& zk, const lock_choice& choice,
                                  std::optional<std::chrono::milliseconds> limit)
{
    const acquisition how{zk, choice, limit};
    co_return co_await std::visit(how, choice.kind);
}

asio::awaitable<queue_view> view(client& zk, const lock_choice& choice, view_options how)
{
    if (const auto* const permits = std::get_if<as_permits>(&choice.kind)) {
        semaphore s{zk, choice.path, permits->all};
        co_return co_await async_view_queue(s, how, asio::use_awaitable);
    }
    const auto names = std::holds_alternative<as_mutex>(choice.kind) ? curator_layout()
                       : std::holds_alternative<as_candidate>(choice.kind)
                           ? curator_latch_layout()
                           : curator_shared_layout();
    co_return co_await async_view_queue(zk, choice.path, names, how, asio::use_awaitable);
}

} // namespace colock::cli
