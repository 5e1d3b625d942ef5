#include "workloads.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace world::workload {

using namespace std::chrono_literals;

namespace {

std::vector<check::members::view> views_of(const std::vector<colock::member_view>& all)
{
    std::vector<check::members::view> result;
    for (const auto& m : all) {
        result.push_back({.name = m.name, .said = {m.data, m.weight}, .session = m.session});
    }
    return result;
}

check::members::words some_words(random& chance)
{
    return {.data = std::string(chance.below(20), 'd'),
            .weight = static_cast<std::uint32_t>(chance.between(0, 3))};
}

// Until it has left.
asio::awaitable<void> hear_of_joins(customer::ptr me,
                                    std::shared_ptr<const colock::membership> here,
                                    check::members::number number)
{
    for (std::uint64_t seen = 1;;) {
        const auto [ec, now] =
            co_await here->async_wait_rejoin(seen, me->tuple("async_wait_rejoin"));
        if (ec) {
            me->all.members.left(number);
            constexpr colock::errc expected[] = {
                colock::errc::not_held, colock::errc::client_closed, colock::errc::name_in_use};
            if (ec != asio::error::operation_aborted &&
                std::ranges::none_of(expected, [why = ec](colock::errc e) { return why == e; })) {
                me->all.found.add("group node", me->all.journal.name_of(me->who) +
                                                    " is a member no more: " + ec.message());
            }
            co_return;
        }
        if (now <= seen) {
            me->all.found.add("group node", me->all.journal.name_of(me->who) +
                                                " hears that it has joined again, and has not");
        }
        seen = now;
        me->all.members.joined_again(number, me->zk ? me->zk->session_id() : 0);
    }
}

asio::awaitable<void> be_a_member(customer::ptr me, std::shared_ptr<colock::membership> here,
                                  check::members::number number, random chance)
{
    const auto until = me->all.time.now() + chance.between(0ns, 20s);
    while (!me->is_over() && *here && me->all.time.now() < until) {
        co_await me->pause(50ms, 1s);
        if (me->is_over() || !*here || !chance.per_mille(200)) {
            continue;
        }
        auto said = some_words(chance);
        me->all.members.updates(number, said);
        auto [ec] = co_await here->async_update(said.data, said.weight, me->tuple("async_update"));
        if (ec) {
            me->ended("async_update", ec);
        } else {
            me->all.members.updated(number);
        }
    }
    me->all.members.left(number);
    colock::membership gone{std::move(*here)};
    if (me->zk && chance.per_mille(500)) {
        const check::members::view was{.name = gone.name(), .session = me->zk->session_id()};
        auto [ec] = co_await gone.async_leave(me->tuple("async_leave"));
        if (ec) {
            me->ended("async_leave", ec);
        } else {
            me->all.members.has_left(was);
        }
    }
}

} // namespace

asio::awaitable<void> joiner(customer::ptr me, random chance)
{
    if (!me->zk) {
        co_return;
    }
    colock::group all{*me->zk, me->path(me->all.group)};
    while (!me->is_over()) {
        co_await me->pause(0ns, 1s);
        if (me->is_over()) {
            break;
        }
        // Some have the same.
        const auto said = some_words(chance);
        colock::member_options o;
        o.name = chance.per_mille(600) ? me->all.journal.name_of(me->who)
                                       : "n" + std::to_string(chance.below(2));
        o.data = said.data;
        o.weight = said.weight;
        const check::members::view as{.name = o.name, .said = said};
        canceller stop{*me, chance};
        stop.perhaps(150);
        const auto began = me->all.time.now();
        auto [ec, here] =
            co_await all.async_join(std::move(o), me->tuple("async_join", stop.slot()));
        if (ec) {
            me->ended("async_join", ec);
            // The node may be one that a dead process has left. Clocks differ by a hundredth.
            if (ec == colock::errc::name_in_use &&
                me->all.time.now() - began < me->all.least_timeout * 98 / 100) {
                me->all.found.add("group name", me->all.journal.name_of(me->who) +
                                                    " is refused the name " + as.name +
                                                    " before the session of another may be over");
            }
            continue;
        }
        auto known = as;
        known.session = me->zk ? me->zk->session_id() : 0;
        const auto number = me->all.members.joined(me->who, me->life, std::move(known));
        const auto mine = std::make_shared<colock::membership>(std::move(here));
        me->engage(hear_of_joins(me, mine, number));
        co_await be_a_member(me, mine, number, chance.branch());
    }
}

asio::awaitable<void> looks_at_group(customer::ptr me, random chance)
{
    if (!me->zk) {
        co_return;
    }
    const colock::group all{*me->zk, me->path(me->all.group)};
    std::vector<colock::member_view> seen;
    while (!me->is_over()) {
        co_await me->pause(0ns, 1s);
        if (me->is_over()) {
            break;
        }
        if (chance.per_mille(300)) {
            const auto asked = me->all.time.now();
            auto [ec, listed] = co_await all.async_members(me->tuple("async_members"));
            if (ec) {
                me->ended("async_members", ec);
            } else {
                me->all.members.listed(me->who, asked, views_of(listed));
            }
        } else if (!seen.empty() && chance.per_mille(50)) { // an operator takes somebody out
            const auto& whom = seen[chance.below(seen.size())];
            if (whom.own) {
                continue;
            }
            me->all.members.takes_out(whom.name);
            auto [ec] =
                co_await me->zk->async_remove(me->path(me->all.group + "/" + whom.name),
                                              colock::any_version, me->tuple("async_remove"));
            if (ec) {
                me->ended("async_remove", ec);
            }
        } else {
            canceller enough{*me, chance};
            enough.after(chance.between(1s, 10s), asio::cancellation_type::terminal);
            const auto waits = me->all.members.waits(me->who, me->life, views_of(seen));
            auto [ec, now] = co_await all.async_wait_change(
                seen, me->tuple("group async_wait_change", enough.slot()));
            me->all.members.waits_no_more(waits);
            if (ec) {
                me->ended("async_wait_change", ec);
            } else if (now == seen) {
                me->all.found.add("group change", me->all.journal.name_of(me->who) +
                                                      " is told of a change that was none");
            } else {
                seen = std::move(now);
            }
        }
    }
}

} // namespace world::workload
