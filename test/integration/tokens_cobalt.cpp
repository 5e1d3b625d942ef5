// Boost.Cobalt's use_op, for Boost 1.88: that this compiles is the test.
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/cobalt/op.hpp>
#include <boost/cobalt/promise.hpp>
#include <boost/cobalt/race.hpp>

#include <chrono>
#include <utility>

namespace cobalt = boost::cobalt;
using namespace std::chrono_literals;

cobalt::promise<void> use(colock::client& zk, colock::mutex& m, colock::shared_mutex& rw,
                          colock::semaphore& pool, colock::election& race)
{
    co_await zk.async_connect(cobalt::use_op);
    const auto got = co_await zk.async_get("/node", cobalt::use_op);
    colock::unique_lock held = co_await m.async_lock(cobalt::use_op);
    colock::unique_lock tried = co_await m.async_try_lock_for(1s, cobalt::use_op);
    static_cast<void>(co_await cobalt::race(held.async_wait_lost(cobalt::use_op),
                                            tried.async_wait_lost(cobalt::use_op)));
    co_await held.async_unlock(cobalt::use_op);
    colock::shared_lock shared = co_await rw.async_lock_shared(cobalt::use_op);
    colock::permit permit = co_await pool.async_acquire(cobalt::use_op);
    co_await permit.async_release(cobalt::use_op);
    colock::leadership leader = co_await race.async_campaign(cobalt::use_op);
    co_await leader.async_resign(cobalt::use_op);
    const auto body = [](const colock::unique_lock&) -> boost::asio::awaitable<int> {
        co_return 1;
    };
    const int result = co_await m.async_with_lock(body, cobalt::use_op);
    static_cast<void>(got);
    static_cast<void>(result);
}
