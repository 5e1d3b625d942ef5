#include "taking.hpp"
#include "workloads.hpp"

#include <vector>

namespace world::workload {

using namespace std::chrono_literals;

asio::awaitable<void> recursion(customer::ptr me, std::size_t place, random chance)
{
    if (!me->zk || me->at(place).kind != lock_kind::recursive_mutex) {
        co_return;
    }
    colock::recursive_mutex lock{*me->zk, me->path(me->at(place).path), me->options(place)};
    while (!me->is_over()) {
        co_await me->pause(0ns, 500ms);
        if (me->is_over()) {
            break;
        }
        colock::lock_owner owner;
        canceller stop{*me, chance};
        stop.perhaps(200);
        auto [ec, outer] = co_await lock.async_lock(owner, me->tuple("async_lock", stop.slot()));
        if (ec) {
            me->ended("recursion", ec);
            co_await me->pause(1ms, 20ms);
            continue;
        }
        const auto token = outer.token();
        held h{me, {place}, std::move(outer)};
        std::vector<colock::unique_lock> inner;
        for (auto levels = chance.below(4); levels > 0; --levels) {
            auto [again, one] = co_await lock.async_lock(owner, me->tuple("async_lock, again"));
            if (again) {
                me->ended("recursion", again);
                break;
            }
            if (one.token() != token) {
                me->all.found.add("recursion", "an inner guard has another token");
            }
            inner.push_back(std::move(one));
        }
        co_await h.use(chance);
        while (!inner.empty()) {
            auto last = std::move(inner.back());
            inner.pop_back();
            if (chance.per_mille(500)) {
                auto [left] = co_await last.async_unlock(me->tuple("async_unlock, inner"));
                if (left) {
                    me->ended("async_unlock", left);
                }
            }
        }
        if (chance.per_mille(500)) {
            co_await h.use(chance); // the inner guards have released nothing
        }
        co_await h.release(chance);
    }
}

} // namespace world::workload
