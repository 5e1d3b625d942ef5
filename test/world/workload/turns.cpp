#include "taking.hpp"
#include "workloads.hpp"

namespace world::workload {

using namespace std::chrono_literals;

asio::awaitable<void> turns(customer::ptr me, std::size_t place, random chance)
{
    if (!me->zk) {
        co_return;
    }
    auto lock = make_lock(*me, place);
    const auto longest_pause = std::chrono::milliseconds{1 << chance.below(11)};
    while (!me->is_over()) {
        co_await me->pause(0ns, longest_pause);
        if (me->is_over()) {
            break;
        }
        if (chance.per_mille(50)) {
            lock = make_lock(*me, place); // the other one has gone
        }
        canceller stop{*me, chance};
        stop.perhaps(250);
        const auto how = draw_wish(*me, place, chance);
        me->all.journal.note(check::deed::waiting, me->who, static_cast<std::int64_t>(place));
        taken t = co_await take(me, lock, how, stop.slot());
        if (t.error) {
            me->ended("turns", t.error);
            co_await me->pause(1ms, 20ms);
        } else if (holds_something(t.guard)) {
            held h{me, {place}, std::move(t.guard)};
            co_await h.use(chance);
            co_await h.release(chance);
        }
    }
}

} // namespace world::workload
