// Permits of a semaphore among several locks, against a real server.
#include <support/lock_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <variant>
#include <vector>

namespace colock::test::multi_lock_permits_test {

namespace {

// A lock, permits, and another lock, in this order.
struct permits_scene : lock_scene {
    const std::string before = directory + "/a";
    const std::string permits = directory + "/b";
    const std::string behind = directory + "/c";
    client& c = connect();
    client& other = connect();

    permits_scene()
    {
        admin.create(directory);
        admin.create(before);
        admin.create(behind);
    }

    semaphore two(client& of) { return {of, permits, 2}; }
    multi_lock all(client& of, std::int64_t count = 2)
    {
        return {mutex{of, behind}, {two(of), count}, mutex{of, before}};
    }
    outcome<multi_guard> start(multi_lock locks)
    {
        outcome<multi_guard> o;
        locks.async_lock(o.handler());
        return o;
    }
    permit take(semaphore s, std::int64_t count)
    {
        outcome<permit> o;
        s.async_acquire(count, o.handler());
        return value_of(io, o);
    }
    std::size_t leases() { return queue_of(permits + "/leases").size(); }
    bool nothing_is_left()
    {
        return until([&] {
            return queue_of(before).empty() && queue_of(behind).empty() && leases() == 0 &&
                   queue_of(permits + "/locks").empty();
        });
    }
    // Waits for the permits: the lock before them is held, and no place behind is kept.
    bool waits_for_permits()
    {
        return until([&] {
            return queue_of(before).size() == 1 && queue_of(permits + "/locks").size() == 1 &&
                   queue_of(behind).empty();
        });
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(multi_lock_permits, permits_scene)

BOOST_AUTO_TEST_CASE(permits_and_locks_are_held_and_released_together)
{
    auto result = start(all(c));
    auto held = value_of(io, result);
    BOOST_TEST(bool(held));
    BOOST_TEST(held.size() == 3U);
    BOOST_TEST((held.state() == lock_state::held));
    BOOST_TEST(held[0].path() == behind);
    BOOST_TEST(held.permits(1).count() == 2U);
    BOOST_TEST(held[2].path() == before);
    BOOST_TEST((held.token(0) != fencing_token{}));
    BOOST_TEST((held.remaining() > 0s));
    BOOST_TEST((held[1].state() == lock_state::not_held)); // what stands there is a permit
    BOOST_TEST((held.permits(0).state() == lock_state::not_held));
    BOOST_TEST((held.token(1) == fencing_token{}));
    const auto ops = held.guarded({remove_op("/x")});
    BOOST_REQUIRE(ops.size() == 5U); // two locks, two permits
    BOOST_TEST(ops[0].path == held[0].node());
    BOOST_TEST(ops[1].path == held.permits(1).nodes()[0]);
    BOOST_TEST(ops[2].path == held.permits(1).nodes()[1]);
    BOOST_TEST(ops[3].path == held[2].node());

    outcome<multi_guard> tried;
    all(other, 1).async_try_lock(tried.handler());
    BOOST_TEST(!value_of(io, tried));

    outcome<> released;
    held.async_unlock(released.handler());
    BOOST_TEST(code_of(io, released) == error_code{});
    BOOST_TEST(leases() == 0U); // when it completes they are gone
    BOOST_TEST(nothing_is_left());
}

BOOST_AUTO_TEST_CASE(one_who_waits_for_permits_keeps_no_place_behind_them)
{
    auto taken = take(two(other), 1);
    auto waiting = start(all(c));
    BOOST_TEST(waits_for_permits());
    taken = {};
    auto held = value_of(io, waiting);
    BOOST_TEST(bool(held));
    BOOST_TEST(leases() == 2U);
    held = {};
    BOOST_TEST(nothing_is_left());
}

BOOST_AUTO_TEST_CASE(G3_cancelled_while_it_waits_for_permits_it_leaves_nothing_behind)
{
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::total}) {
        auto taken = take(two(other), 2);
        asio::cancellation_signal signal;
        outcome<multi_guard> waiting;
        all(c).async_lock(asio::bind_cancellation_slot(signal.slot(), waiting.handler()));
        BOOST_TEST(waits_for_permits());
        signal.emit(type);
        BOOST_TEST(code_of(io, waiting) == asio::error::operation_aborted);
        if (type == asio::cancellation_type::total) { // when it completes all is gone
            BOOST_TEST(queue_of(before).empty());
            BOOST_TEST(queue_of(permits + "/locks").empty());
        }
        BOOST_TEST(leases() == 2U);
        taken = {};
        BOOST_TEST(nothing_is_left());
    }
}

BOOST_AUTO_TEST_CASE(G5_the_loss_of_a_permit_is_the_loss_of_all)
{
    auto result = start(all(c));
    auto held = value_of(io, result);
    outcome<error_code> lost;
    held.async_wait_lost(lost.handler());
    BOOST_TEST(
        until([&] { return watches_of(c).size() == 4; })); // those of two locks and two permits
    admin.remove(held.permits(1).nodes()[1]);
    BOOST_TEST(value_of(io, lost) == errc::node_deleted);
    BOOST_TEST(!held);
    BOOST_TEST(held.loss_reason() == errc::node_deleted);
    BOOST_TEST((held.state() == lock_state::lost));
    BOOST_TEST(queue_of(before).size() == 1U); // its holder may still be stopping what he does
    held = {};
    BOOST_TEST(nothing_is_left());
}

BOOST_AUTO_TEST_CASE(a_guard_that_is_moved_to_itself_stays)
{
    auto held = value_of(io, start(all(c)));
    auto& same = held;
    held = std::move(same);
    BOOST_TEST((bool(held) && held.size() == 3U));
    held = {};
    BOOST_TEST(nothing_is_left());
}

BOOST_AUTO_TEST_CASE(bad_input)
{
    const auto code = [&](multi_lock m) {
        auto o = start(std::move(m));
        return code_of(io, o);
    };
    BOOST_TEST(code(all(c, 0)) == errc::invalid_option);
    BOOST_TEST(code(all(c, 3)) == errc::too_many_permits);
    BOOST_TEST(code({two(c), {two(c), 2}}) == errc::path_twice);
    BOOST_TEST(code({two(c), mutex{other, before}}) == errc::several_clients);
    BOOST_TEST(code({mutex{c, before}, semaphore{c, before, 1}}) == errc::path_twice);
    BOOST_TEST(nothing_is_left());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::multi_lock_permits_test
