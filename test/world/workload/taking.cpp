#include "taking.hpp"

#include <utility>

namespace world::workload {

using namespace std::chrono_literals;

namespace {

// What all kinds but the semaphore have in common, with the owner of a recursive mutex in front.
template <class Lock, class... Owner>
asio::awaitable<taken> take_exclusive(customer::ptr by, Lock& lock, wish how,
                                      asio::cancellation_slot stop, Owner&... owner)
{
    taken t;
    switch (how.how) {
    case wish::way::wait: {
        auto [ec, guard] =
            co_await lock.async_lock(owner..., by->tuple("async_lock", std::move(stop)));
        t.error = ec;
        t.guard = std::move(guard);
        break;
    }
    case wish::way::at_once: {
        auto [ec, guard] =
            co_await lock.async_try_lock(owner..., by->tuple("async_try_lock", std::move(stop)));
        t.error = ec;
        t.guard = std::move(guard);
        break;
    }
    case wish::way::limited: {
        const auto limit = by->begin_limited(how.limit);
        auto [ec, guard] = co_await lock.async_try_lock_for(
            owner..., how.limit, by->tuple("async_try_lock_for", std::move(stop)));
        by->ended_limited("a limited attempt", limit, ec);
        t.error = ec;
        t.guard = std::move(guard);
        break;
    }
    }
    co_return std::move(t);
}

asio::awaitable<taken> take_shared(customer::ptr by, colock::shared_mutex& lock, wish how,
                                   asio::cancellation_slot stop)
{
    taken t;
    switch (how.how) {
    case wish::way::wait: {
        auto [ec, guard] =
            co_await lock.async_lock_shared(by->tuple("async_lock_shared", std::move(stop)));
        t.error = ec;
        t.guard = std::move(guard);
        break;
    }
    case wish::way::at_once: {
        auto [ec, guard] = co_await lock.async_try_lock_shared(
            by->tuple("async_try_lock_shared", std::move(stop)));
        t.error = ec;
        t.guard = std::move(guard);
        break;
    }
    case wish::way::limited: {
        const auto limit = by->begin_limited(how.limit);
        auto [ec, guard] = co_await lock.async_try_lock_shared_for(
            how.limit, by->tuple("async_try_lock_shared_for", std::move(stop)));
        by->ended_limited("a limited attempt", limit, ec);
        t.error = ec;
        t.guard = std::move(guard);
        break;
    }
    }
    co_return std::move(t);
}

asio::awaitable<taken> take_permits(customer::ptr by, colock::semaphore& from, wish how,
                                    asio::cancellation_slot stop)
{
    taken t;
    switch (how.how) {
    case wish::way::wait: {
        auto [ec, guard] =
            co_await from.async_acquire(how.permits, by->tuple("async_acquire", std::move(stop)));
        t.error = ec;
        t.guard = std::move(guard);
        break;
    }
    case wish::way::at_once: {
        auto [ec, guard] = co_await from.async_try_acquire(
            how.permits, by->tuple("async_try_acquire", std::move(stop)));
        t.error = ec;
        t.guard = std::move(guard);
        break;
    }
    case wish::way::limited: {
        const auto limit = by->begin_limited(how.limit);
        auto [ec, guard] = co_await from.async_try_acquire_for(
            how.permits, how.limit, by->tuple("async_try_acquire_for", std::move(stop)));
        by->ended_limited("a limited attempt", limit, ec);
        t.error = ec;
        t.guard = std::move(guard);
        break;
    }
    }
    co_return std::move(t);
}

} // namespace

any_lock make_lock(customer& by, std::size_t place)
{
    const auto& p = by.at(place);
    const auto path = by.path(p.path);
    auto& zk = *by.zk;
    const auto& options = by.options(place);
    switch (p.kind) {
    case lock_kind::recursive_mutex:
        return owned_mutex{colock::recursive_mutex{zk, path, options},
                           std::make_shared<colock::lock_owner>()};
    case lock_kind::shared_mutex: return colock::shared_mutex{zk, path, options};
    case lock_kind::single_node_mutex: return colock::single_node_mutex{zk, path, options};
    case lock_kind::semaphore:
        return p.counter.empty()
                   ? colock::semaphore{zk, path, p.permits, options}
                   : colock::semaphore{zk, path, colock::counter_node{by.path(p.counter)}, options};
    case lock_kind::mutex:
    case lock_kind::election: break;
    }
    return colock::mutex{zk, path, options};
}

wish draw_wish(customer& by, std::size_t place, random& chance)
{
    wish w;
    const auto drawn = chance.below(10);
    w.how = drawn < 6 ? wish::way::wait : drawn < 8 ? wish::way::at_once : wish::way::limited;
    w.limit = some_time(chance, 3s);
    const auto& p = by.at(place);
    w.shared = p.kind == lock_kind::shared_mutex && chance.per_mille(600);
    w.permits = chance.between(1, p.permits);
    return w;
}

asio::awaitable<taken> take(customer::ptr by, any_lock& lock, wish how,
                            asio::cancellation_slot stop)
{
    if (auto* const m = std::get_if<colock::mutex>(&lock)) {
        co_return co_await take_exclusive(std::move(by), *m, how, stop);
    }
    if (auto* const r = std::get_if<owned_mutex>(&lock)) {
        co_return co_await take_exclusive(std::move(by), r->lock, how, stop, *r->owner);
    }
    if (auto* const n = std::get_if<colock::single_node_mutex>(&lock)) {
        co_return co_await take_exclusive(std::move(by), *n, how, stop);
    }
    if (auto* const s = std::get_if<colock::semaphore>(&lock)) {
        co_return co_await take_permits(std::move(by), *s, how, stop);
    }
    auto& both = std::get<colock::shared_mutex>(lock);
    if (how.shared) {
        co_return co_await take_shared(std::move(by), both, how, stop);
    }
    co_return co_await take_exclusive(std::move(by), both, how, stop);
}

} // namespace world::workload
