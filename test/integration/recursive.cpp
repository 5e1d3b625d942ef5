// recursive_mutex: its owner may lock it again.
#include <support/lock_scene.hpp>
#include <support/requests_of.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <optional>
#include <vector>

namespace colock::test::recursive_test {

namespace {

struct recursive_scene : lock_scene {
    client& zk = connect();
    recursive_mutex lock{zk, directory};
    lock_owner me, other;

    outcome<recursive_lock> start(lock_owner& owner)
    {
        outcome<recursive_lock> o;
        lock.async_lock(owner, o.handler());
        return o;
    }
    recursive_lock take(lock_owner& owner) { return value_of(io, start(owner)); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(recursive, recursive_scene)

BOOST_AUTO_TEST_CASE(an_owner_locks_again_without_a_request)
{
    auto outer = take(me);
    BOOST_TEST(outer.depth() == 1U);
    BOOST_TEST(wait_for_watches(zk, 1)); // the holder's, of its own node
    const auto before = requests_of(zk);
    auto inner = take(me);
    outcome<recursive_lock> tried, timed;
    lock.async_try_lock(me, tried.handler());
    lock.async_try_lock_for(me, 1h, timed.handler());
    auto third = value_of(io, tried);
    auto fourth = value_of(io, timed);
    BOOST_TEST(requests_of(zk) == before);
    BOOST_TEST(outer.depth() == 4U);
    BOOST_TEST(fourth.depth() == 4U);
    BOOST_TEST((inner.token() == outer.token()));
    BOOST_TEST(inner.node() == outer.node());
    for (auto* each : {&fourth, &third, &inner}) {
        BOOST_TEST(unlock(*each) == error_code{});
        BOOST_TEST(each->depth() == 0U);
        BOOST_TEST(bool(outer));
    }
    BOOST_TEST(outer.depth() == 1U);
    BOOST_TEST(queue().size() == 1U);
    BOOST_TEST(unlock(outer) == error_code{});
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G1_another_owner_waits_for_the_last_guard)
{
    auto outer = take(me);
    auto inner = take(me);
    const auto next = start(other);
    outcome<recursive_lock> tried;
    lock_owner third;
    lock.async_try_lock(third, tried.handler());
    BOOST_TEST(!value_of(io, tried));
    BOOST_TEST(unlock(inner) == error_code{});
    go_on(io, 5ms);
    BOOST_TEST(!next.done());
    BOOST_TEST(unlock(outer) == error_code{});
    auto theirs = value_of(io, next);
    BOOST_TEST(theirs.depth() == 1U);
    // The first one waits as anybody else.
    const auto again = start(me);
    go_on(io, 5ms);
    BOOST_TEST(!again.done());
    theirs = {};
    BOOST_TEST(bool(value_of(io, again)));
}

BOOST_AUTO_TEST_CASE(unlocking_out_of_order_is_an_error_and_releases_nothing_early)
{
    auto outer = take(me);
    auto inner = take(me);
    const auto next = start(other);
    BOOST_TEST(unlock(outer) == errc::unlock_out_of_order);
    BOOST_TEST(!outer);
    BOOST_TEST(inner.depth() == 1U);
    go_on(io, 5ms);
    BOOST_TEST(!next.done());
    BOOST_TEST(bool(inner));
    BOOST_TEST(unlock(inner) == error_code{});
    BOOST_TEST(bool(value_of(io, next)));
}

BOOST_AUTO_TEST_CASE(guards_may_be_destroyed_in_any_order)
{
    auto outer = take(me);
    auto inner = take(me);
    outer = {};
    auto third = take(me); // the owner has it still
    BOOST_TEST(third.depth() == 2U);
    inner = {};
    BOOST_TEST(third.depth() == 1U);
    { // and once more through other hands
        auto moved = std::move(third);
        third = std::move(moved);
    }
    BOOST_TEST(third.depth() == 1U);
    third = {};
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(an_owner_does_not_wait_for_itself)
{
    auto held = take(other);
    const auto first = start(me);
    diagnostics about;
    outcome<recursive_lock> second;
    lock.async_lock(me, bind_diagnostics(about, second.handler()));
    BOOST_TEST(code_of(io, second) == errc::owner_waits);
    BOOST_TEST(about.message().starts_with("lock " + directory + ": "));
    BOOST_TEST(!first.done());
    held = {};
    BOOST_TEST(bool(value_of(io, first)));
    // Nothing of an attempt that failed stays.
    outcome<recursive_lock> tried;
    auto theirs = take(other);
    lock.async_try_lock(me, tried.handler());
    BOOST_TEST(!value_of(io, tried));
    const auto next = start(me);
    theirs = {};
    BOOST_TEST(bool(value_of(io, next)));
}

BOOST_AUTO_TEST_CASE(a_cancelled_owner_may_try_again)
{
    auto held = take(other);
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::total}) {
        asio::cancellation_signal stop;
        outcome<recursive_lock> waiting;
        lock.async_lock(me, asio::bind_cancellation_slot(stop.slot(), waiting.handler()));
        stop.emit(type);
        BOOST_TEST(code_of(io, waiting) == asio::error::operation_aborted);
    }
    const auto next = start(me);
    held = {};
    BOOST_TEST(value_of(io, next).depth() == 1U);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G5_a_loss_is_that_of_all_guards)
{
    auto outer = take(me);
    auto inner = take(me);
    outcome<error_code> lost;
    inner.async_wait_lost(lost.handler());
    admin.remove(outer.node());
    BOOST_TEST(value_of(io, lost) == errc::node_deleted);
    BOOST_TEST(outer.loss_reason() == errc::node_deleted);
    // What is lost is not locked again while it is thought to be held.
    BOOST_TEST(code_of(io, start(me)) == errc::node_deleted);
    BOOST_TEST(unlock(inner) == errc::node_deleted);
    BOOST_TEST(unlock(outer) == errc::node_deleted);
    BOOST_TEST(bool(take(me)));
}

// Whatever still refers to a lock that was released has no say in the next one.
BOOST_AUTO_TEST_CASE(what_is_left_of_a_released_lock_is_not_in_the_way)
{
    auto first = take(me);
    auto stored = first.async_wait_lost(); // deferred, and never started
    first = {};
    auto outer = take(me);
    const auto inner = take(me);
    BOOST_TEST(outer.depth() == 2U);
    static_cast<void>(stored);
}

BOOST_AUTO_TEST_CASE(G2_in_strict_order_too)
{
    recursive_mutex strict{zk, directory + "-strict", {.max_local_grants = 0}};
    outcome<recursive_lock> a, b, c;
    strict.async_lock(me, a.handler());
    auto outer = value_of(io, a);
    strict.async_lock(other, b.handler());
    BOOST_TEST(until([&] { return queue_of(strict.path()).size() == 2; }));
    strict.async_lock(me, c.handler());
    auto inner = value_of(io, c);
    BOOST_TEST(!b.done());
    inner = {};
    outer = {};
    BOOST_TEST(bool(value_of(io, b)));
}

BOOST_AUTO_TEST_CASE(two_kinds_do_not_share_a_path)
{
    outcome<unique_lock> plain;
    mutex{zk, directory}.async_lock(plain.handler());
    BOOST_TEST(code_of(io, plain) == errc::conflicting_use);
}

namespace {

asio::awaitable<int> depth_within(recursive_mutex& m, lock_owner& me, int n)
{
    co_return co_await m.async_with_lock(me,
                                         [&](const recursive_lock& held) -> asio::awaitable<int> {
                                             if (n == 0) {
                                                 co_return static_cast<int>(held.depth());
                                             }
                                             co_return co_await depth_within(m, me, n - 1);
                                         });
}

} // namespace

BOOST_AUTO_TEST_CASE(a_body_may_call_what_locks_again)
{
    std::optional<int> depth;
    asio::co_spawn(io, depth_within(lock, me, 9), [&](std::exception_ptr e, int d) {
        BOOST_TEST(!e);
        depth = d;
    });
    BOOST_TEST(until([&] { return depth.has_value(); }));
    BOOST_TEST(*depth == 10);
    check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::recursive_test
