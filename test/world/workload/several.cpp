#include "taking.hpp"
#include "workloads.hpp"

#include <optional>

namespace world::workload {

using namespace std::chrono_literals;

namespace {

// As one of several; nothing for what a multi_lock does not take, or needs its own objects for.
std::optional<colock::lock_entry> entry(any_lock& lock, std::int64_t permits)
{
    if (auto* const m = std::get_if<colock::mutex>(&lock)) {
        return colock::lock_entry{*m};
    }
    if (auto* const r = std::get_if<owned_mutex>(&lock)) {
        return colock::lock_entry{r->lock, *r->owner};
    }
    if (auto* const n = std::get_if<colock::single_node_mutex>(&lock)) {
        return colock::lock_entry{*n};
    }
    if (auto* const s = std::get_if<colock::semaphore>(&lock)) {
        return colock::lock_entry{*s, permits};
    }
    return colock::lock_entry{std::get<colock::shared_mutex>(lock)};
}

asio::awaitable<taken> take_all(customer::ptr by, colock::multi_lock& all, wish how,
                                asio::cancellation_slot stop)
{
    taken t;
    switch (how.how) {
    case wish::way::wait: {
        auto [ec, guard] = co_await all.async_lock(by->tuple("multi async_lock", stop));
        t.error = ec;
        t.guard = std::move(guard);
        break;
    }
    case wish::way::at_once: {
        auto [ec, guard] = co_await all.async_try_lock(by->tuple("multi async_try_lock", stop));
        t.error = ec;
        t.guard = std::move(guard);
        break;
    }
    case wish::way::limited: {
        auto [ec, guard] =
            co_await all.async_try_lock_for(how.limit, by->tuple("multi async_try_lock_for", stop));
        t.error = ec;
        t.guard = std::move(guard);
        break;
    }
    }
    co_return std::move(t);
}

} // namespace

asio::awaitable<void> several(customer::ptr me, random chance)
{
    while (!me->is_over()) {
        co_await me->pause(0ns, 500ms);
        if (me->is_over()) {
            break;
        }
        std::vector<std::size_t> places;
        std::vector<colock::lock_entry> entries;
        for (std::size_t i = 0; i < me->all.places.size(); ++i) {
            if (me->at(i).kind != lock_kind::election && chance.per_mille(600)) {
                auto lock = make_lock(*me, i);
                if (auto e = entry(lock, chance.between(1, me->at(i).permits))) {
                    places.push_back(i);
                    entries.push_back(std::move(*e));
                }
            }
        }
        if (places.empty()) {
            continue;
        }
        colock::multi_lock all{entries};
        entries.clear();
        canceller stop{*me, chance};
        stop.perhaps(250);
        const auto how = draw_wish(*me, places.front(), chance);
        taken t = co_await take_all(me, all, how, stop.slot());
        stop.completed("a multi_lock");
        if (t.error) {
            me->ended("several", t.error);
            co_await me->pause(1ms, 20ms);
        } else if (holds_something(t.guard)) {
            held h{me, places, std::move(t.guard)};
            co_await h.use(chance);
            co_await h.release(chance);
        }
    }
}

} // namespace world::workload
