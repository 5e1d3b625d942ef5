// What a contender says to each input: the scenarios of the queue protocol, one by one. That it is
// right in every order of events is the business of test/model; here is what it costs, and what it
// does about errors that only a person can cause.
#include "contender_play.hpp"

#include <boost/test/unit_test.hpp>

namespace colock::test::contender_play {

BOOST_AUTO_TEST_SUITE(contender)

// ---- joining

BOOST_AUTO_TEST_CASE(uncontended_join_is_two_requests_sent_together)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(0) == "");
    BOOST_TEST(p.listed({0}) == "granted");
    BOOST_TEST((*p).holds());
    BOOST_TEST((*p).identity().czxid == 1000);
    BOOST_TEST((*p).identity().owner == session);
    BOOST_TEST(p.leave() == "remove 0");
    BOOST_TEST(!(*p).holds());
    BOOST_TEST(p.removed() == "gone");
    BOOST_TEST((*p).is_gone());
    BOOST_TEST(!(*p).has_node());
}

BOOST_AUTO_TEST_CASE(join_without_a_connection_waits_for_one)
{
    play p;
    BOOST_TEST(p.join(false) == "");
    BOOST_TEST(p.connected() == "create #1, list");
    BOOST_TEST(p.created(0) == "");
    BOOST_TEST(p.listed({0}) == "granted");
}

BOOST_AUTO_TEST_CASE(missing_directory_is_made_and_joined_again)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(no_node) == "make directory");
    BOOST_TEST(p.listed(no_node) == ""); // of the first join
    BOOST_TEST(p.directory_made() == "create #2, list");
    BOOST_TEST(p.created(0) == "");
    BOOST_TEST(p.listed({0}) == "granted");
}

// The answer to the first listing comes late: it must not be taken for that of the second join.
BOOST_AUTO_TEST_CASE(stale_listing_is_ignored)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(throttled) == "create #2, list");
    BOOST_TEST(p.leave() == "");
    BOOST_TEST(p.listed({3}) == ""); // does not have #2, but was made before it
    BOOST_TEST(p.created(4) == "remove 4");
    BOOST_TEST(p.listed({3, 4}) == "");
    BOOST_TEST(p.removed() == "gone");
}

BOOST_AUTO_TEST_CASE(making_the_directory_is_repeated_when_refused)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(no_node) == "make directory");
    BOOST_TEST(p.listed(no_node) == "");
    BOOST_TEST(p.directory_made(throttled) == "make directory");
    BOOST_TEST(p.directory_made() == "create #2, list");
}

BOOST_AUTO_TEST_CASE(making_the_directory_begins_again_after_a_reconnection)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(no_node) == "make directory");
    BOOST_TEST(p.listed(no_node) == "");
    BOOST_TEST(p.broken({"make"}) == "");
    BOOST_TEST(p.connected() == "create #1, list");
}

// ---- waiting

BOOST_AUTO_TEST_CASE(own_watch_first_then_the_nearest_then_the_one_ahead)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(7) == "");
    BOOST_TEST(p.listed({1, 3, 7, 5, 9}) == "watch 7, watch 5, watch 3");
}

BOOST_AUTO_TEST_CASE(second_in_the_queue_has_nobody_ahead_of_its_predecessor)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(7) == "");
    BOOST_TEST(p.listed({3, 7}) == "watch 7, watch 3");
    BOOST_TEST(p.watched(7) == "");
    BOOST_TEST(p.watched(3) == "");
    BOOST_TEST(p.deleted(3) == "granted");
}

BOOST_AUTO_TEST_CASE(two_may_hold_a_lock_that_admits_two)
{
    play second{{.holders = 2}};
    BOOST_TEST(second.join() == "create #1, list");
    BOOST_TEST(second.created(7) == "");
    BOOST_TEST(second.listed({3, 7}) == "granted");

    play third{{.holders = 2}};
    BOOST_TEST(third.join() == "create #1, list");
    BOOST_TEST(third.created(7) == "");
    BOOST_TEST(third.listed({3, 5, 7}) == "watch 7, watch 5, watch 3");
    BOOST_TEST(third.watched(7) == "");
    BOOST_TEST(third.watched(5) == "");
    BOOST_TEST(third.watched(3) == "");
    BOOST_TEST(third.deleted(3) == "unwatch 5, granted");

    play fourth{{.holders = 2}};
    BOOST_TEST(fourth.join() == "create #1, list");
    BOOST_TEST(fourth.created(7) == "");
    BOOST_TEST(fourth.listed({1, 3, 5, 7}) == "watch 7, watch 5, watch 3");
    BOOST_TEST(fourth.watched(7) == "");
    BOOST_TEST(fourth.watched(5) == "");
    BOOST_TEST(fourth.watched(3) == "");
    BOOST_TEST(fourth.deleted(5) == "list"); // the one that was out of sight may go next
    BOOST_TEST(fourth.listed({1, 3, 7}) == "watch 1");
    BOOST_TEST(fourth.watched(1) == "");
    BOOST_TEST(fourth.deleted(1) == "unwatch 3, granted");

    play trying{{.holders = 2}};
    BOOST_TEST(trying.try_join() == "list");
    BOOST_TEST(trying.listed({3, 5}) == "busy, gone");
}

BOOST_AUTO_TEST_CASE(granted_on_the_event_without_a_listing)
{
    auto p = waiting();
    BOOST_TEST(p.deleted(3) == ""); // nobody else: the predecessor is in sight
    BOOST_TEST(p.deleted(4) == "granted");
}

BOOST_AUTO_TEST_CASE(lists_when_the_one_ahead_has_left_and_more_are_before_it)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed({1, 2, 3, 4, 5}) == "watch 5, watch 4, watch 3");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.watched(4) == "");
    BOOST_TEST(p.watched(3) == "");
    BOOST_TEST(p.deleted(3) == "list");
    BOOST_TEST(p.listed({2, 4, 5}) == "watch 2"); // the others are watched already
    BOOST_TEST(p.watched(2) == "");
    BOOST_TEST(p.deleted(2) == "");
    BOOST_TEST(p.deleted(4) == "granted");
}

BOOST_AUTO_TEST_CASE(predecessor_goes_first_and_the_one_ahead_takes_its_place)
{
    auto p = waiting();
    BOOST_TEST(p.deleted(4) == ""); // 3 is the only one left, and watched
    BOOST_TEST(p.deleted(3) == "granted");
}

BOOST_AUTO_TEST_CASE(predecessor_goes_first_with_more_before_it)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed({2, 3, 4, 5}) == "watch 5, watch 4, watch 3");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.watched(4) == "");
    BOOST_TEST(p.watched(3) == "");
    BOOST_TEST(p.deleted(4) == "list");
    // While the listing is under way nothing more is asked.
    BOOST_TEST(p.deleted(3) == "");
    BOOST_TEST(p.listed({2, 5}) == "watch 2");
    BOOST_TEST(p.watched(2) == "");
    BOOST_TEST(p.deleted(2) == "granted");
}

BOOST_AUTO_TEST_CASE(granted_on_the_event_while_a_listing_is_under_way)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed({2, 3, 4, 5}) == "watch 5, watch 4, watch 3");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.watched(4) == "");
    BOOST_TEST(p.watched(3) == "");
    BOOST_TEST(p.deleted(3) == "list");
    BOOST_TEST(p.deleted(4) == "");
    BOOST_TEST(p.listed({5}) == "granted");
}

BOOST_AUTO_TEST_CASE(predecessor_vanished_between_listing_and_watch)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed({4, 5}) == "watch 5, watch 4");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.watched(4, no_node) == "granted");
}

BOOST_AUTO_TEST_CASE(both_before_it_vanished_between_listing_and_watch)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed({3, 4, 5}) == "watch 5, watch 4, watch 3");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.watched(4, no_node) == "");
    BOOST_TEST(p.watched(3, no_node) == "granted");
}

BOOST_AUTO_TEST_CASE(middle_waiter_leaves)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(6) == "");
    BOOST_TEST(p.listed({4, 5, 6}) == "watch 6, watch 5, watch 4");
    BOOST_TEST(p.watched(6) == "");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.watched(4) == "");
    BOOST_TEST(p.deleted(5) == ""); // not granted: 4 is still there
    BOOST_TEST(!(*p).holds());
    BOOST_TEST(p.deleted(4) == "granted");
}

BOOST_AUTO_TEST_CASE(changed_nodes_are_watched_again)
{
    auto p = waiting();
    BOOST_TEST(p.changed(5) == "watch 5");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.changed(4) == "watch 4");
    BOOST_TEST(p.changed(3) == "watch 3");
    BOOST_TEST(p.watched(4) == "");
    BOOST_TEST(p.watched(3, no_node) == "");
    BOOST_TEST(p.deleted(4) == "granted");
}

// G1: between the two the own node may have been deleted.
BOOST_AUTO_TEST_CASE(G1_not_granted_on_an_event_while_the_own_watch_is_not_armed)
{
    auto p = waiting();
    BOOST_TEST(p.deleted(3) == "");
    BOOST_TEST(p.changed(5) == "watch 5");
    BOOST_TEST(p.deleted(4) == "list");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.listed({5}) == "granted");
}

// An operator deletes the node. Whoever comes next must not be held up by a contender without one,
// nor be granted beside it.
BOOST_AUTO_TEST_CASE(G1_own_node_deleted_while_waiting)
{
    auto p = waiting();
    BOOST_TEST(p.deleted(5) == "unwatch 4, unwatch 3, create #2, list");
    BOOST_TEST(!(*p).has_node());
    BOOST_TEST(p.deleted(3) == ""); // not wanted any more
    BOOST_TEST(p.deleted(4) == "");
    BOOST_TEST(p.created(7) == "");
    BOOST_TEST(p.listed({6, 7}) == "watch 7, watch 6");
    BOOST_TEST(p.watched(7) == "");
    BOOST_TEST(p.watched(6) == "");
    BOOST_TEST(p.deleted(6) == "granted");
}

BOOST_AUTO_TEST_CASE(own_node_deleted_before_it_was_watched)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed({4, 5}) == "watch 5, watch 4");
    BOOST_TEST(p.watched(5, no_node) == "unwatch 4, create #2, list");
}

BOOST_AUTO_TEST_CASE(own_node_missing_in_the_listing)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed({4}) == "create #2, list");
    BOOST_TEST(p.created(6) == "");
    BOOST_TEST(p.listed(no_node) == "create #3, list"); // so is the directory
}

BOOST_AUTO_TEST_CASE(G1_the_node_of_a_single_node_mutex_is_no_directory)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(zookeeper_errc::no_children_for_ephemerals) ==
               "failed: conflicting_kind, gone");
}

BOOST_AUTO_TEST_CASE(G1_who_comes_after_a_lock_of_another_kind_gives_up)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed({p.name(5), "_c_99999999-__READ__0000000003"}) ==
               "failed: conflicting_kind, remove 5");
    play first;
    BOOST_TEST(first.join() == "create #1, list");
    BOOST_TEST(first.created(5) == "");
    BOOST_TEST(first.listed({first.name(5), "_c_99999999-__READ__0000000006"}) == "granted");
}

BOOST_AUTO_TEST_CASE(foreign_children_are_ignored)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed({"config", "0000000001", "ffffffff-door-0000000002", p.name(5),
                         "orders_lock_0000000003", "lock-004"}) == "granted");
}

// ---- held

BOOST_AUTO_TEST_CASE(G5_own_node_deleted_while_held)
{
    auto p = waiting();
    BOOST_TEST(p.deleted(3) == "");
    BOOST_TEST(p.deleted(4) == "granted");
    BOOST_TEST(p.deleted(5) == "lost: node_deleted, gone");
    BOOST_TEST(p.leave() == "");
}

BOOST_AUTO_TEST_CASE(the_own_node_is_watched_once)
{
    auto p = holding();
    BOOST_TEST(p.watch_own_node() == "watch 5");
    BOOST_TEST(p.watch_own_node() == "");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.watch_own_node() == "");
    BOOST_TEST(p.changed(5) == "watch 5");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.deleted(5) == "lost: node_deleted, gone");
}

BOOST_AUTO_TEST_CASE(the_own_watch_finds_that_the_node_is_gone)
{
    auto p = holding();
    BOOST_TEST(p.watch_own_node() == "watch 5");
    BOOST_TEST(p.watched(5, no_node) == "lost: node_deleted, gone");
}

BOOST_AUTO_TEST_CASE(the_own_watch_is_repeated_when_refused)
{
    auto p = holding();
    BOOST_TEST(p.watch_own_node() == "watch 5");
    BOOST_TEST(p.watched(5, throttled) == "watch 5");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.deleted(5) == "lost: node_deleted, gone");
}

BOOST_AUTO_TEST_CASE(the_own_node_is_watched_only_while_held_and_connected)
{
    play idle;
    BOOST_TEST(idle.watch_own_node() == "");
    auto queued = waiting();
    BOOST_TEST(queued.watch_own_node() == "");
    auto p = holding();
    BOOST_TEST(p.broken({}) == "");
    BOOST_TEST(p.watch_own_node() == "");
    BOOST_TEST(p.connected() == "watch 5"); // without being asked
    BOOST_TEST(p.watch_own_node() == "");
    BOOST_TEST(p.leave() == "remove 5");
    BOOST_TEST(p.watch_own_node() == "");
}

BOOST_AUTO_TEST_CASE(G5_node_deleted_by_somebody_shows_at_the_release)
{
    auto p = holding(); // and does not watch its node
    BOOST_TEST(p.leave() == "remove 5");
    BOOST_TEST(p.removed(no_node) == "lost: node_deleted, gone");
}

BOOST_AUTO_TEST_CASE(G5_own_removal_of_unknown_outcome_is_no_loss)
{
    auto p = holding();
    BOOST_TEST(p.leave() == "remove 5");
    BOOST_TEST(p.broken({"remove"}) == "");
    BOOST_TEST(p.connected() == "remove 5");
    BOOST_TEST(p.removed(no_node) == "gone");
}

BOOST_AUTO_TEST_CASE(G5_held_through_a_disconnection)
{
    auto p = holding();
    BOOST_TEST(p.broken({}) == "");
    BOOST_TEST((*p).holds());
    BOOST_TEST(p.connected() == "watch 5");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST((*p).holds());
}

BOOST_AUTO_TEST_CASE(G5_deleted_during_a_disconnection)
{
    auto p = holding();
    BOOST_TEST(p.broken({}) == "");
    BOOST_TEST(p.connected() == "watch 5");
    BOOST_TEST(p.watched(5, no_node) == "lost: node_deleted, gone");
}

BOOST_AUTO_TEST_CASE(G5_session_expired_while_held)
{
    auto p = holding();
    BOOST_TEST(p.broken({}) == "");
    BOOST_TEST(p.expired() == "lost: session_expired, gone");
    BOOST_TEST(p.connected(session + 1) == "");
}

// ---- proof that the session is safe

// Two lists are under way, the session is known to be safe when the second one is answered, and then the proof comes.
BOOST_AUTO_TEST_CASE(G1_granted_once_when_the_session_is_safe_before_the_proof_comes)
{
    play p;
    p.join();
    p.created(2);
    BOOST_TEST(p.listed({1, 2}) == "watch 2, watch 1");
    BOOST_TEST(p.watched(2, throttled) == "list");
    BOOST_TEST(p.watched(1, throttled) == "list");
    p.assume_safe(false);
    BOOST_TEST(p.listed({2}) == "prove");
    p.assume_safe(true);
    BOOST_TEST(p.listed({2}) == "granted");
    BOOST_TEST(p.watch_own_node() == "watch 2");
    BOOST_TEST(p.watched(2) == "");
    BOOST_TEST(p.proved() == "");
}

BOOST_AUTO_TEST_CASE(one_proof_is_asked_for_at_a_time)
{
    play p;
    p.join();
    p.created(2);
    p.listed({1, 2});
    p.watched(2, throttled);
    p.watched(1, throttled);
    p.assume_safe(false);
    BOOST_TEST(p.listed({2}) == "prove");
    BOOST_TEST(p.listed({2}) == "");
    p.assume_safe(true);
    BOOST_TEST(p.proved() == "list");
    BOOST_TEST(p.listed({2}) == "granted");
}

// ---- numbers

BOOST_AUTO_TEST_CASE(sequence_exhausted_by_the_own_number)
{
    play last;
    BOOST_TEST(last.join() == "create #1, list");
    BOOST_TEST(last.created(protocol::last_number - 1) == "");
    BOOST_TEST(last.listed({last.name(protocol::last_number - 1)}).starts_with("read directory"));
    last.directory_read(false);
    BOOST_TEST(last.listed({last.name(protocol::last_number - 1)}) == "granted");

    for (const std::int64_t number :
         {protocol::last_number, std::int64_t{2147483647}, std::int64_t{-2147483648}}) {
        play p;
        BOOST_TEST(p.join() == "create #1, list");
        BOOST_TEST(p.created(number) == "");
        BOOST_TEST(p.listed({}).starts_with("read directory "));
        p.directory_read(false);
        BOOST_TEST(p.listed({}).starts_with("failed: sequence_exhausted, remove "));
        BOOST_TEST(p.removed() == "gone");
    }
}

BOOST_AUTO_TEST_CASE(sequence_exhausted_by_a_recovered_number)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.broken({"create", "list"}) == "");
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.listed({p.made(2147483647)}) == "read directory 2147483647, list");
    p.directory_read(false);
    BOOST_TEST(p.listed({p.made(2147483647)}) == "failed: sequence_exhausted, remove 2147483647");
}

// One negative number says that the counter has overflowed, and that numbers mean nothing any more.
BOOST_AUTO_TEST_CASE(sequence_exhausted_by_a_foreign_number)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed({p.foreign(-2147483648), p.name(5)}) ==
               "failed: sequence_exhausted, remove 5");
}

BOOST_AUTO_TEST_CASE(duplicate_of_the_own_number)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed({p.foreign(5), p.name(5)}) == "failed: duplicate_sequence, remove 5");
    BOOST_TEST(p.removed() == "gone");
}

BOOST_AUTO_TEST_CASE(duplicate_of_other_numbers_is_no_concern)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed({"a-lock-0000000004", "b-lock-0000000004", p.name(5)}) ==
               "watch 5, watch 4, watch 4");
}

// ---- errors that stay

BOOST_AUTO_TEST_CASE(permanent_error_of_the_create)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(no_auth) == "failed: -102, gone");
    BOOST_TEST(p.listed({}) == "");
}

BOOST_AUTO_TEST_CASE(permanent_error_of_making_the_directory)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(no_node) == "make directory");
    BOOST_TEST(p.listed(no_node) == "");
    BOOST_TEST(p.directory_made(no_auth) == "failed: -102, gone");
}

BOOST_AUTO_TEST_CASE(permanent_error_of_the_listing)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed(no_auth) == "failed: -102, remove 5");
    BOOST_TEST(p.removed() == "gone");

    play q;
    BOOST_TEST(q.try_join() == "list");
    BOOST_TEST(q.listed(no_auth) == "failed: -102, gone");
}

// Nobody can say whether there is a node.
BOOST_AUTO_TEST_CASE(permanent_error_of_the_listing_that_looks_for_its_node)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.broken({"create", "list"}) == "");
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.listed(no_auth) == "failed: -102, gone: -102");

    play q;
    BOOST_TEST(q.join() == "create #1, list");
    BOOST_TEST(q.broken({"create", "list"}) == "");
    BOOST_TEST(q.leave() == "");
    BOOST_TEST(q.connected() == "list");
    BOOST_TEST(q.listed(no_auth) == "gone: -102");
}

BOOST_AUTO_TEST_CASE(permanent_error_of_a_watch)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed({3, 4, 5}) == "watch 5, watch 4, watch 3");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.watched(4, no_auth) == "failed: -102, unwatch 3, remove 5");
    BOOST_TEST(p.deleted(5) == "");
    BOOST_TEST(p.removed() == "gone");
}

BOOST_AUTO_TEST_CASE(permanent_error_of_the_remove)
{
    auto p = holding();
    BOOST_TEST(p.watch_own_node() == "watch 5");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.leave() == "remove 5");
    BOOST_TEST(p.removed(no_auth) == "unwatch 5, gone: -102");
}

BOOST_AUTO_TEST_CASE(refused_listing_and_watches_are_repeated)
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed(throttled) == "list");
    BOOST_TEST(p.listed({4, 5}) == "watch 5, watch 4");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.watched(4, throttled) == "list");
    BOOST_TEST(p.listed({4, 5}) == "watch 4");
    BOOST_TEST(p.watched(4, no_node) == "granted");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::contender_play
