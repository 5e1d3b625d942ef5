#include "taking.hpp"
#include "workloads.hpp"

namespace world::workload {

using namespace std::chrono_literals;

asio::awaitable<void> downgrades(customer::ptr me, std::size_t place, random chance)
{
    if (!me->zk || me->at(place).kind != lock_kind::shared_mutex) {
        co_return;
    }
    colock::shared_mutex lock{*me->zk, me->path(me->at(place).path), me->options(place)};
    while (!me->is_over()) {
        co_await me->pause(0ns, 500ms);
        if (me->is_over()) {
            break;
        }
        canceller stop{*me, chance};
        stop.perhaps(200);
        auto [ec, writing] = co_await lock.async_lock(me->tuple("async_lock", stop.slot()));
        if (ec) {
            me->ended("downgrades", ec);
            co_await me->pause(1ms, 20ms);
            continue;
        }
        {
            const ticket mine{*me, place, check::mode::exclusive, writing};
            co_await me->pause(0ns, some_time(chance, 200ms));
            me->all.holds.write(mine.number());
        }
        canceller stop_again{*me, chance};
        stop_again.perhaps(200);
        auto [refused, reading] = co_await lock.async_downgrade(
            std::move(writing), me->tuple("async_downgrade", stop_again.slot()));
        if (refused) {
            me->ended("async_downgrade", refused);
            co_await me->pause(1ms, 20ms);
            continue;
        }
        held h{me, {place}, std::move(reading)};
        co_await h.use(chance);
        co_await h.release(chance);
    }
}

} // namespace world::workload
