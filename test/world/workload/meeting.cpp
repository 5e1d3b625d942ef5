#include "workloads.hpp"

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace world::workload {

using namespace std::chrono_literals;

namespace {

using role = check::rendezvous::role;

// An operation that waits, for whoever ends it.
struct waiting {
    asio::cancellation_signal stop;
    bool over = false;
};

check::rendezvous::number begin(customer& me, std::string at, role what)
{
    return me.all.rendezvous.begins(
        {.at = std::move(at), .what = what, .who = me.who, .owner = me.life, .session = [&me] {
             return me.zk ? me.zk->session_id() : 0;
         }});
}

// Some wait as long as their customer is there.
asio::awaitable<void> end_wait(customer::ptr me, std::shared_ptr<waiting> w, random chance)
{
    const auto until =
        chance.per_mille(200) ? me->all.time.now() + some_time(chance, 5s) : instant::max();
    while (!w->over && !me->is_over() && me->all.time.now() < until) {
        co_await me->pause(1ms, 300ms);
    }
    if (!w->over) {
        constexpr asio::cancellation_type types[] = {
            asio::cancellation_type::terminal, asio::cancellation_type::partial,
            asio::cancellation_type::total, asio::cancellation_type::all};
        w->stop.emit(types[chance.below(4)]);
    }
}

asio::awaitable<colock::error_code> come_to(customer::ptr me, colock::latch& at, role what,
                                            asio::cancellation_slot slot)
{
    switch (what) {
    case role::arrive: {
        auto [ec] =
            co_await at.async_arrive_and_wait(me->tuple("latch async_arrive_and_wait", slot));
        co_return ec;
    }
    case role::count_down: {
        auto [ec] = co_await at.async_count_down(me->tuple("async_count_down", slot));
        co_return ec;
    }
    case role::wait: {
        auto [ec] = co_await at.async_wait(me->tuple("latch async_wait", slot));
        co_return ec;
    }
    }
    co_return colock::error_code{};
}

asio::awaitable<std::tuple<colock::error_code, std::uint64_t>>
arrive(customer::ptr me, colock::barrier& at, asio::cancellation_slot slot,
       std::optional<std::uint64_t> phase)
{
    if (phase) {
        co_return co_await at.async_arrive_and_wait(
            *phase, me->tuple("async_arrive_and_wait in a phase", slot));
    }
    co_return co_await at.async_arrive_and_wait(me->tuple("async_arrive_and_wait", slot));
}

// The others refuse it.
asio::awaitable<void> come_with_another_count(customer::ptr me, asio::cancellation_slot slot)
{
    const auto& m = *me->all.meeting;
    colock::barrier other{*me->zk, me->path(m.barrier), static_cast<std::uint32_t>(m.count + 1)};
    auto [ec, phase] =
        co_await other.async_arrive_and_wait(me->tuple("async_arrive_and_wait", slot));
    if (!ec) {
        me->all.found.add("rendezvous count",
                          me->all.journal.name_of(me->who) + " goes on with another count");
    } else if (ec != colock::errc::conflicting_maximum) {
        me->ended("async_arrive_and_wait", ec);
    }
}

} // namespace

asio::awaitable<void> goes_through_phases(customer::ptr me, random chance)
{
    if (!me->zk) {
        co_return;
    }
    const auto& m = *me->all.meeting;
    colock::barrier step{*me->zk, me->path(m.barrier), static_cast<std::uint32_t>(m.count)};
    std::uint64_t next = 0;
    {
        auto [ec, phase] = co_await step.async_phase(me->tuple("async_phase"));
        if (ec) {
            me->ended("async_phase", ec);
        } else {
            me->all.rendezvous.told_phase(me->who, phase);
            next = phase;
        }
    }
    while (!me->is_over()) {
        co_await me->pause(0ns, 1s);
        if (me->is_over()) {
            break;
        }
        const auto w = std::make_shared<waiting>();
        me->engage(end_wait(me, w, chance.branch()));
        if (me->all.rendezvous.has_begun() && chance.per_mille(20)) {
            co_await come_with_another_count(me, w->stop.slot());
            w->over = true;
            continue;
        }
        const auto part = begin(*me, m.barrier, role::arrive);
        const bool by_number = chance.per_mille(500);
        auto [ec, phase] = co_await arrive(me, step, w->stop.slot(),
                                           by_number ? std::optional{next} : std::nullopt);
        w->over = true;
        if (ec) {
            me->all.rendezvous.ends(part);
            me->ended("async_arrive_and_wait", ec);
            continue;
        }
        me->all.rendezvous.passes(part, phase);
        if (phase < next || (by_number && phase != next)) {
            me->all.found.add("rendezvous order",
                              me->all.journal.name_of(me->who) + " goes on from phase " +
                                  std::to_string(phase) + ", after " + std::to_string(next - 1));
        }
        next = phase + 1;
    }
}

asio::awaitable<void> meets_at_latches(customer::ptr me, random chance)
{
    if (!me->zk) {
        co_return;
    }
    const auto count = static_cast<std::uint32_t>(me->all.meeting->count);
    while (!me->is_over()) {
        co_await me->pause(0ns, 1s);
        if (me->is_over()) {
            break;
        }
        const auto path = me->all.rendezvous.present_latch();
        colock::latch here{*me->zk, me->path(path), count};
        const auto drawn = chance.below(100);
        if (drawn < 10) {
            auto [ec, open] = co_await here.async_try_wait(me->tuple("async_try_wait"));
            if (ec) {
                me->ended("async_try_wait", ec);
            } else if (open) {
                me->all.rendezvous.told_open(me->who, path);
            }
            continue;
        }
        const auto what = drawn < 60 ? role::arrive : drawn < 80 ? role::count_down : role::wait;
        const auto part = begin(*me, path, what);
        const auto w = std::make_shared<waiting>();
        me->engage(end_wait(me, w, chance.branch()));
        const auto ec = co_await come_to(me, here, what, w->stop.slot());
        w->over = true;
        if (ec) {
            me->all.rendezvous.ends(part);
            me->ended("of a latch", ec);
        } else {
            me->all.rendezvous.passes(part, 0);
        }
    }
}

asio::awaitable<void> takes_arrivals_out(customer::ptr me, random chance)
{
    while (!me->is_over()) {
        co_await me->pause(200ms, 3s);
        if (me->is_over() || me->all.calm) {
            continue;
        }
        const auto at = me->path(chance.per_mille(500) ? me->all.meeting->barrier
                                                       : me->all.rendezvous.present_latch());
        auto [none, all] = co_await me->zk->async_children(at, me->tuple("async_children"));
        if (none) {
            me->ended("async_children", none);
            continue;
        }
        std::erase_if(all.names, [](const std::string& name) {
            return !name.starts_with("arrival-") && !name.starts_with("counted-");
        });
        if (all.names.empty() || me->is_over()) {
            continue;
        }
        auto [ec] = co_await me->zk->async_remove(at + "/" + chance.pick(all.names),
                                                  colock::any_version, me->tuple("async_remove"));
        if (ec) {
            me->ended("async_remove", ec);
        }
    }
}

} // namespace world::workload
