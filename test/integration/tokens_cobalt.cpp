// Boost.Cobalt's use_op, for Boost 1.88.
#include <support/lock_scene.hpp>

#include <boost/cobalt/op.hpp>
#include <boost/cobalt/race.hpp>
#include <boost/cobalt/spawn.hpp>
#include <boost/cobalt/task.hpp>
#include <boost/test/unit_test.hpp>

#include <exception>
#include <string>

namespace colock::test::tokens_cobalt_test {

namespace cobalt = boost::cobalt;

namespace {

// A lock is taken, tried, lost and released, and each of the others is taken and released once.
cobalt::task<void> use(client& zk, admin_session& admin, const std::string& path)
{
    mutex lock{zk, path};
    unique_lock held = co_await lock.async_lock(cobalt::use_op);
    const unique_lock tried = co_await lock.async_try_lock(cobalt::use_op);
    BOOST_TEST(!tried);
    admin.remove(held.node());
    boost::asio::steady_timer timer{co_await cobalt::this_coro::executor, 1min};
    const auto first = co_await cobalt::race(held.async_wait_lost(cobalt::use_op),
                                             timer.async_wait(cobalt::use_op));
    BOOST_TEST(first.index() == 0U); // and the timer was cancelled

    shared_mutex documents{zk, path + "-shared"};
    shared_lock shared = co_await documents.async_lock_shared(cobalt::use_op);
    co_await shared.async_unlock(cobalt::use_op);
    semaphore pool{zk, path + "-pool", 2};
    permit one = co_await pool.async_acquire(cobalt::use_op);
    co_await one.async_release(cobalt::use_op);
    election race{zk, path + "-race", "one"};
    leadership leader = co_await race.async_campaign(cobalt::use_op);
    co_await leader.async_resign(cobalt::use_op);
    const auto body = [](const unique_lock&) -> boost::asio::awaitable<int> { co_return 1; };
    BOOST_TEST(co_await lock.async_with_lock(body, cobalt::use_op) == 1);
}

} // namespace

BOOST_AUTO_TEST_SUITE(tokens_cobalt)

BOOST_AUTO_TEST_CASE(each_kind_of_lock)
{
    lock_scene s;
    bool done = false;
    cobalt::spawn(s.io, use(s.connect(), s.admin, s.directory), [&](const std::exception_ptr& e) {
        BOOST_TEST(!e);
        done = true;
    });
    BOOST_TEST(s.until([&] { return done; }));
    s.check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::tokens_cobalt_test
