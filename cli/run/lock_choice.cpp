#include "run/lock_choice.hpp"

#include <colock/diagnostics.hpp>
#include <colock/election.hpp>
#include <colock/log.hpp>
#include <colock/multi_lock.hpp>
#include <colock/mutex.hpp>
#include <colock/semaphore.hpp>
#include <colock/shared_mutex.hpp>

#include "connect/awaiting.hpp"
#include "names/node_path.hpp"
#include "program/failure.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <algorithm>

namespace colock::cli {

namespace asio = boost::asio;

namespace {

struct acquisition {
    client& zk;
    const lock_choice& choice;
    std::optional<std::chrono::milliseconds> limit;

    [[nodiscard]] lock_options options() const
    {
        lock_options o;
        o.safety_margin = choice.safety_margin;
        o.owner_data = choice.owner;
        o.acl = choice.acl;
        return o;
    }

    // A time that is too long for the clock is no limit, and one of zero waits for nothing.
    template <class Within>
    asio::awaitable<acquired> carry_out(Within within) const
    {
        const auto time = limit.value_or(std::chrono::milliseconds::max());
        diagnostics why;
        auto [ec, held] = co_await within(time, bind_diagnostics(why, no_throw));
        acquired a;
        // The time is over, and the servers are silent: `why` says so.
        a.error = ec == errc::no_answer ? error_code{} : ec;
        a.why = why.message();
        a.held = holding{std::move(held)};
        co_return a;
    }

    asio::awaitable<acquired> operator()(const as_mutex&) const
    {
        mutex m{zk, choice.path, options()};
        co_return co_await carry_out(
            [&m](auto time, auto token) { return m.async_try_lock_for(time, token); });
    }
    asio::awaitable<acquired> operator()(const as_reader&) const
    {
        shared_mutex m{zk, choice.path, options()};
        co_return co_await carry_out(
            [&m](auto time, auto token) { return m.async_try_lock_shared_for(time, token); });
    }
    asio::awaitable<acquired> operator()(const as_writer&) const
    {
        shared_mutex m{zk, choice.path, options()};
        co_return co_await carry_out(
            [&m](auto time, auto token) { return m.async_try_lock_for(time, token); });
    }
    asio::awaitable<acquired> operator()(const as_permits& permits) const
    {
        semaphore s{zk, choice.path, permits.all, options()};
        const auto wanted = permits.wanted;
        co_return co_await carry_out(
            [&](auto time, auto token) { return s.async_try_acquire_for(wanted, time, token); });
    }
    asio::awaitable<acquired> operator()(const as_candidate&) const
    {
        election_options o;
        o.safety_margin = choice.safety_margin;
        o.acl = choice.acl;
        election e{zk, choice.path, choice.owner, o};
        co_return co_await carry_out(
            [&e](auto time, auto token) { return e.async_try_campaign_for(time, token); });
    }

    [[nodiscard]] lock_entry entry(const std::string& path) const
    {
        if (std::holds_alternative<as_reader>(choice.kind)) {
            return {shared_mutex{zk, path, options()}, for_reading};
        }
        if (std::holds_alternative<as_writer>(choice.kind)) {
            return {shared_mutex{zk, path, options()}};
        }
        return {mutex{zk, path, options()}};
    }

    asio::awaitable<acquired> together() const
    {
        std::vector<lock_entry> locks;
        for (const auto& one : each_of(choice)) {
            locks.push_back(entry(one.path));
        }
        multi_lock all{locks};
        co_return co_await carry_out(
            [&all](auto time, auto token) { return all.async_try_lock_for(time, token); });
    }
};

} // namespace

std::vector<lock_choice> each_of(const lock_choice& all)
{
    std::vector<lock_choice> each{all};
    for (const auto& path : all.more) {
        each.push_back(all);
        each.back().path = path;
    }
    for (auto& one : each) {
        one.more.clear();
    }
    return each;
}

namespace {

asio::awaitable<access_control_list> list_above(client& zk, std::string path)
{
    for (;;) {
        path = parent_of(path);
        diagnostics why;
        auto [ec, found] = co_await zk.async_get_acl(path, bind_diagnostics(why, no_throw));
        if (ec == zookeeper_errc::no_node && path != "/") {
            continue;
        }
        if (ec) {
            throw failure_of(ec, why.message());
        }
        const auto is_masked = [](const acl_entry& e) {
            return e.scheme == "digest" && e.id.ends_with(":x"); // no hash is that short
        };
        if (std::ranges::any_of(found.acl, is_masked)) {
            throw failure{refused, "without ADMIN on " + printable(path) +
                                       " this client cannot tell whom its list names, so --acl "
                                       "parent does not work; use --auth with an identity that "
                                       "may use it"};
        }
        co_return std::move(found.acl);
    }
}

} // namespace

asio::awaitable<access_control_list> list_above(client& zk, const lock_choice& lock)
{
    std::optional<access_control_list> all;
    for (const auto& one : each_of(lock)) {
        auto list = co_await list_above(zk, one.path);
        if (all && *all != list) {
            throw failure{usage, "the nodes above " + printable(lock.path) + " and " +
                                     printable(one.path) +
                                     " have different lists; take locks below one root, or --acl "
                                     "creator"};
        }
        all = std::move(list);
    }
    co_return all.value();
}

std::string paths_of(const lock_choice& lock)
{
    auto all = lock.path;
    for (const auto& path : lock.more) {
        all += ' ' + path;
    }
    return all;
}

asio::awaitable<acquired> acquire(client& zk, const lock_choice& choice,
                                  std::optional<std::chrono::milliseconds> limit)
{
    const acquisition how{zk, choice, limit};
    if (!choice.more.empty()) {
        co_return co_await how.together();
    }
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
