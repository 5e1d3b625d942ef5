// What a contender says when the connection breaks, when it leaves, and when it does not wait.
#include "contender_play.hpp"

#include <boost/test/unit_test.hpp>

namespace colock::test::contender_play {

namespace {

// The answer to its step-down was lost, and it may not list.
play stepping_down_unlisted()
{
    auto p = holding();
    BOOST_TEST(p.step_down() == "step down 5");
    BOOST_TEST(p.broken({"step"}) == "");
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.listed(no_auth) == "step down 5");
    return p;
}

// The answer to its create was lost, and others have made nodes with its guid before it could list. It removes them all.
play sweeping()
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.broken({"create", "list"}) == "");
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.listed({p.made(5), p.twin(6)}) == "remove 5, remove 6, list again");
    return p;
}

} // namespace

BOOST_AUTO_TEST_SUITE(contender_leave)

// ---- disconnected

BOOST_AUTO_TEST_CASE(a_sweep_is_repeated_when_a_server_refuses_and_else_once_on_a_connection)
{
    auto p = sweeping();
    BOOST_TEST(p.removed() == "");
    BOOST_TEST(p.removed(throttled) == "");
    BOOST_TEST(p.listed({p.twin(6), p.twin(7)}) == "remove 6, remove 7, list again");
    BOOST_TEST(p.removed() == "");
    BOOST_TEST(p.removed(no_auth) == "");
    BOOST_TEST(p.listed({p.made(7), p.twin(8)}) == "watch 7");
}

BOOST_AUTO_TEST_CASE(a_sweep_that_has_removed_all_is_followed_by_another_join)
{
    auto p = sweeping();
    BOOST_TEST(p.removed() == "");
    BOOST_TEST(p.removed() == "");
    BOOST_TEST(p.listed({}) == "create #2, list");
}

BOOST_AUTO_TEST_CASE(create_of_unknown_outcome_is_found)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.broken({"create", "list"}) == "");
    BOOST_TEST(p.connected() == "list");
    // Its czxid, which the fencing token needs, comes with the watched read.
    BOOST_TEST(p.listed({p.made(5)}) == "watch 5");
    BOOST_TEST(p.watched(5) == "granted");
    BOOST_TEST((*p).identity().czxid == 1005);
}

BOOST_AUTO_TEST_CASE(create_of_unknown_outcome_is_found_in_the_queue)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.broken({"create", "list"}) == "");
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.listed({p.foreign(3), p.foreign(4), p.made(5)}) == "watch 5, watch 4, watch 3");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.watched(4, no_node) == "");
    BOOST_TEST(p.watched(3, no_node) == "granted");
    BOOST_TEST((*p).identity().czxid == 1005);
}

BOOST_AUTO_TEST_CASE(create_of_unknown_outcome_is_not_found)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.broken({"create", "list"}) == "");
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.listed({3}) == "create #2, list");
    BOOST_TEST(p.created(4) == "");
    BOOST_TEST(p.listed({3, 4}) == "watch 4, watch 3");
}

BOOST_AUTO_TEST_CASE(create_of_unknown_outcome_and_no_directory)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.broken({"create", "list"}) == "");
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.listed(no_node) == "create #2, list");
    BOOST_TEST(p.created(no_node) == "make directory");
}

BOOST_AUTO_TEST_CASE(connection_breaks_again_while_it_looks_for_its_node)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.broken({"create", "list"}) == "");
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.broken({"list"}) == "");
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.listed({p.made(5)}) == "watch 5");
    BOOST_TEST(p.broken({"5"}) == "");
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.listed({5}) == "watch 5");
    BOOST_TEST(p.watched(5) == "granted");
}

// The session expired meanwhile: whatever became of the create, it is gone with it.
BOOST_AUTO_TEST_CASE(create_of_unknown_outcome_and_the_session_expired)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.broken({"create", "list"}) == "");
    BOOST_TEST(p.expired() == "");
    BOOST_TEST(p.connected(session + 1) == "create #2, list");
    BOOST_TEST(p.created(6, session + 1) == "");
    BOOST_TEST(p.listed({6}) == "granted");
}

BOOST_AUTO_TEST_CASE(recovered_node_is_owned_by_another_session)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.broken({"create", "list"}) == "");
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.listed({p.made(5)}) == "watch 5");
    BOOST_TEST(p.watched(5, session + 1) == "unwatch 5, create #2, list");
}

BOOST_AUTO_TEST_CASE(place_in_the_queue_is_kept_through_a_disconnection)
{
    auto p = waiting();
    BOOST_TEST(p.broken({}) == "");
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.listed({4, 5}) == "watch 5, watch 4");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.watched(4) == "");
    BOOST_TEST(p.deleted(4) == "granted");
}

BOOST_AUTO_TEST_CASE(its_turn_came_during_a_disconnection)
{
    auto p = waiting();
    BOOST_TEST(p.broken({}) == "");
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.listed({5}) == "granted");
}

BOOST_AUTO_TEST_CASE(own_node_deleted_during_a_disconnection)
{
    auto p = waiting();
    BOOST_TEST(p.broken({}) == "");
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.listed({4}) == "create #2, list");
}

BOOST_AUTO_TEST_CASE(session_expired_while_waiting)
{
    auto p = waiting();
    BOOST_TEST(p.broken({}) == "");
    BOOST_TEST(p.expired() == "");
    BOOST_TEST(!(*p).has_node());
    BOOST_TEST(p.connected(session + 1) == "create #2, list");
}

BOOST_AUTO_TEST_CASE(session_expired_while_waiting_and_that_is_an_error)
{
    play p{{.rejoin_on_expiry = false}};
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed({4, 5}) == "watch 5, watch 4");
    BOOST_TEST(p.broken({"5", "4"}) == "");
    BOOST_TEST(p.expired() == "failed: session_expired, gone");
    BOOST_TEST(p.connected(session + 1) == "");
}

BOOST_AUTO_TEST_CASE(session_expired_before_the_first_create_costs_no_place)
{
    play p{{.rejoin_on_expiry = false}};
    BOOST_TEST(p.join(false) == "");
    BOOST_TEST(p.expired() == "");
    BOOST_TEST(p.connected(session + 1) == "create #1, list");
}

// ---- stepping down

BOOST_AUTO_TEST_CASE(step_down_of_unknown_outcome_is_found)
{
    auto p = stepping_down_unlisted();
    BOOST_TEST(p.stepped_down(zookeeper_errc::node_exists) == "shared, watch 5");
}

BOOST_AUTO_TEST_CASE(step_down_of_unknown_outcome_and_the_node_was_deleted)
{
    auto p = stepping_down_unlisted();
    BOOST_TEST(p.stepped_down(no_node) == "lost: node_deleted, gone");
}

BOOST_AUTO_TEST_CASE(G3_step_down_of_unknown_outcome_that_is_refused_is_told)
{
    auto p = stepping_down_unlisted();
    const auto refused = std::to_string(no_auth.value());
    BOOST_TEST(p.stepped_down(no_auth) == "shared: " + refused + ", gone: " + refused);

    auto q = stepping_down_unlisted();
    BOOST_TEST(q.leave() == "");
    BOOST_TEST(q.stepped_down(no_auth) == "gone: " + refused);
}

// ---- leaving

BOOST_AUTO_TEST_CASE(leave_before_anything)
{
    play p;
    BOOST_TEST(p.leave() == "gone");
    BOOST_TEST(p.connected() == "");
}

BOOST_AUTO_TEST_CASE(leave_while_waiting_for_a_connection)
{
    play p;
    BOOST_TEST(p.join(false) == "");
    BOOST_TEST(p.leave() == "gone");
}

BOOST_AUTO_TEST_CASE(leave_while_the_directory_is_made)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(no_node) == "make directory");
    BOOST_TEST(p.leave() == "gone");
    BOOST_TEST(p.listed(no_node) == "");
    BOOST_TEST(p.directory_made() == "");
}

BOOST_AUTO_TEST_CASE(G3_leave_with_the_create_under_way)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.leave() == "");
    BOOST_TEST(p.leave() == ""); // twice
    BOOST_TEST(p.created(5) == "remove 5");
    BOOST_TEST(p.listed({5}) == "");
    BOOST_TEST(p.removed() == "gone");
}

BOOST_AUTO_TEST_CASE(G3_leave_with_a_create_that_fails)
{
    for (const auto& ec : {no_node, no_auth, throttled}) {
        play p;
        BOOST_TEST(p.join() == "create #1, list");
        BOOST_TEST(p.leave() == "");
        BOOST_TEST(p.created(ec) == "gone");
        BOOST_TEST(p.listed(no_node) == "");
    }
}

BOOST_AUTO_TEST_CASE(G3_leave_with_the_create_under_way_and_its_outcome_lost)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.leave() == "");
    BOOST_TEST(p.broken({"create", "list"}) == "");
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.listed({p.foreign(4), p.made(5)}) == "remove 5");
    BOOST_TEST(p.removed() == "gone");
}

BOOST_AUTO_TEST_CASE(G3_leave_after_the_outcome_was_lost)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.broken({"create", "list"}) == "");
    BOOST_TEST(p.leave() == "");
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.listed({4}) == "gone"); // there never was one
}

BOOST_AUTO_TEST_CASE(G3_leave_while_it_looks_for_its_node)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.broken({"create", "list"}) == "");
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.leave() == "");
    BOOST_TEST(p.listed({p.made(5)}) == "remove 5");
    BOOST_TEST(p.removed() == "gone");
}

BOOST_AUTO_TEST_CASE(G3_leave_after_the_outcome_was_lost_and_the_session_expired)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.broken({"create", "list"}) == "");
    BOOST_TEST(p.leave() == "");
    BOOST_TEST(p.expired() == "gone");
}

BOOST_AUTO_TEST_CASE(G3_leave_with_the_listing_under_way)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.leave() == "remove 5");
    BOOST_TEST(p.listed({5}) == "");
    BOOST_TEST(p.removed() == "gone");
}

// The own watch goes with the node.
BOOST_AUTO_TEST_CASE(G3_leave_while_waiting_forgets_the_watches_of_others)
{
    auto p = waiting();
    BOOST_TEST(p.leave() == "unwatch 4, unwatch 3, remove 5");
    BOOST_TEST(p.deleted(5) == "");
    BOOST_TEST(p.removed() == "gone");
}

BOOST_AUTO_TEST_CASE(G3_leave_with_watches_under_way)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed({4, 5}) == "watch 5, watch 4");
    BOOST_TEST(p.leave() == "unwatch 4, remove 5");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.deleted(5) == "");
    BOOST_TEST(p.removed() == "gone");
}

BOOST_AUTO_TEST_CASE(G3_leave_while_disconnected_removes_at_the_reconnection)
{
    auto p = waiting();
    BOOST_TEST(p.broken({}) == "");
    BOOST_TEST(p.leave() == "");
    BOOST_TEST(p.connected() == "remove 5");
    BOOST_TEST(p.removed() == "gone");

    auto q = holding();
    BOOST_TEST(q.broken({}) == "");
    BOOST_TEST(q.leave() == "");
    BOOST_TEST(q.connected() == "remove 5");
    BOOST_TEST(q.removed() == "gone");
}

BOOST_AUTO_TEST_CASE(G3_leave_while_disconnected_and_the_session_expired)
{
    auto p = holding();
    BOOST_TEST(p.broken({}) == "");
    BOOST_TEST(p.leave() == "");
    BOOST_TEST(p.expired() == "gone");
}

BOOST_AUTO_TEST_CASE(G3_remove_of_unknown_outcome_is_repeated)
{
    auto p = waiting();
    BOOST_TEST(p.leave() == "unwatch 4, unwatch 3, remove 5");
    BOOST_TEST(p.broken({"remove"}) == "");
    BOOST_TEST(p.connected() == "remove 5");
    BOOST_TEST(p.broken({"remove"}) == "");
    BOOST_TEST(p.connected() == "remove 5");
    BOOST_TEST(p.removed(no_node) == "gone");
}

BOOST_AUTO_TEST_CASE(G3_remove_is_repeated_when_refused)
{
    auto p = holding();
    BOOST_TEST(p.leave() == "remove 5");
    BOOST_TEST(p.removed(throttled) == "remove 5");
    BOOST_TEST(p.removed() == "gone");
}

BOOST_AUTO_TEST_CASE(nothing_is_said_after_gone)
{
    auto p = holding();
    BOOST_TEST(p.leave() == "remove 5");
    BOOST_TEST(p.removed() == "gone");
    BOOST_TEST(p.leave() == "");
    BOOST_TEST(p.watch_own_node() == "");
    BOOST_TEST(p.deleted(5) == "");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.listed({}) == "");
    BOOST_TEST(p.removed(no_node) == "");
    p.suspended();
    BOOST_TEST(p.connected() == "");
    BOOST_TEST(p.expired() == "");
    BOOST_TEST((*p).is_gone());
}

// ---- try

BOOST_AUTO_TEST_CASE(try_busy_costs_one_listing_and_no_write)
{
    play p;
    BOOST_TEST(p.try_join() == "list");
    BOOST_TEST(p.listed({3}) == "busy, gone");
}

BOOST_AUTO_TEST_CASE(try_free)
{
    play p;
    BOOST_TEST(p.try_join() == "list");
    BOOST_TEST(p.listed({"config"}) == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed({5}) == "granted");
}

BOOST_AUTO_TEST_CASE(try_loses_the_race_after_its_create)
{
    play p;
    BOOST_TEST(p.try_join() == "list");
    BOOST_TEST(p.listed({}) == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed({4, 5}) == "busy, remove 5");
    BOOST_TEST(p.removed() == "gone");
}

BOOST_AUTO_TEST_CASE(try_makes_the_directory)
{
    play p;
    BOOST_TEST(p.try_join() == "list");
    BOOST_TEST(p.listed(no_node) == "make directory");
    BOOST_TEST(p.directory_made() == "list");
    BOOST_TEST(p.listed({}) == "create #2, list");
}

BOOST_AUTO_TEST_CASE(try_goes_on_after_a_disconnection)
{
    play p;
    BOOST_TEST(p.try_join() == "list");
    BOOST_TEST(p.broken({"list"}) == "");
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.listed({}) == "create #1, list");
    BOOST_TEST(p.broken({"create", "list"}) == "");
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.listed({p.foreign(4), p.made(5)}) == "busy, remove 5");
    BOOST_TEST(p.removed() == "gone");
}

BOOST_AUTO_TEST_CASE(try_cancelled)
{
    play p;
    BOOST_TEST(p.try_join() == "list");
    BOOST_TEST(p.leave() == "gone");
    BOOST_TEST(p.listed({}) == "");

    play q;
    BOOST_TEST(q.try_join() == "list");
    BOOST_TEST(q.listed({}) == "create #1, list");
    BOOST_TEST(q.leave() == "");
    BOOST_TEST(q.created(5) == "remove 5");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::contender_play
