// What a contender says because of what its client knows of the directory: the uncontended fast path, the low-water mark.
#include "contender_play.hpp"

#include <boost/test/unit_test.hpp>

using namespace colock;
using namespace colock::test;

BOOST_AUTO_TEST_SUITE(contender_directory)

// ---- the uncontended fast path

BOOST_AUTO_TEST_CASE(an_only_child_needs_no_list)
{
    play p;
    p.expect_alone();
    BOOST_TEST(p.join() == "create and count #1");
    BOOST_TEST(p.counted(5, true) == "granted");
    BOOST_TEST((*p).identity().czxid == 1005);
    BOOST_TEST(((*p).contention() == protocol::remote_contention::unknown));
    BOOST_TEST(p.watch_own_node() == "watch 5");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.leave() == "remove 5");
    BOOST_TEST(p.removed() == "unwatch 5, gone");
}

BOOST_AUTO_TEST_CASE(one_of_several_children_lists)
{
    play p;
    p.expect_alone();
    BOOST_TEST(p.join() == "create and count #1");
    BOOST_TEST(p.counted(5, false) == "list");
    BOOST_TEST(p.listed({4, 5}) == "watch 5, watch 4");
}

BOOST_AUTO_TEST_CASE(a_directory_that_refuses_to_be_written_to_is_not_asked_again)
{
    for (const auto& refusal : {error_code{zookeeper_errc::bad_version}, no_auth}) {
        play p;
        p.expect_alone();
        BOOST_TEST(p.join() == "create and count #1");
        BOOST_TEST(p.counted(refusal) == "create #2, list");
        BOOST_TEST(p.created(5) == "");
        BOOST_TEST(p.listed({5}) == "granted");
    }
}

BOOST_AUTO_TEST_CASE(without_a_directory_it_is_made)
{
    play p;
    p.expect_alone();
    BOOST_TEST(p.join() == "create and count #1");
    BOOST_TEST(p.counted(no_node) == "make directory");
    BOOST_TEST(p.directory_made() == "create #2, list"); // others may have come meanwhile

    play q;
    q.expect_alone();
    BOOST_TEST(q.join() == "create and count #1");
    BOOST_TEST(q.counted(throttled) == "create #2, list");
}

BOOST_AUTO_TEST_CASE(G3_a_count_of_unknown_outcome_is_looked_for)
{
    play p;
    p.expect_alone();
    BOOST_TEST(p.join() == "create and count #1");
    BOOST_TEST(p.counted(lost_connection) == "");
    p.suspended();
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.listed({p.made(5)}) == "watch 5"); // whose session made it
    BOOST_TEST(p.watched(5) == "granted");
}

BOOST_AUTO_TEST_CASE(G3_leaves_while_it_is_counted)
{
    play p;
    p.expect_alone();
    BOOST_TEST(p.join() == "create and count #1");
    BOOST_TEST(p.leave() == "");
    BOOST_TEST(p.counted(5, true) == "remove 5");
    BOOST_TEST(p.removed() == "gone");

    play q;
    q.expect_alone();
    BOOST_TEST(q.join() == "create and count #1");
    BOOST_TEST(q.leave() == "");
    BOOST_TEST(q.counted(zookeeper_errc::bad_version) == "gone");
}

BOOST_AUTO_TEST_CASE(near_their_end_numbers_are_listed)
{
    play p;
    p.expect_alone();
    BOOST_TEST(p.join() == "create and count #1");
    BOOST_TEST(p.counted(protocol::drain_from_number, true) == "list");
}

BOOST_AUTO_TEST_CASE(who_only_tries_lists_first)
{
    play p;
    p.expect_alone();
    BOOST_TEST(p.try_join() == "list");
    BOOST_TEST(p.listed({}) == "create #1, list");
}

// ---- the low-water mark in long queues

// Of the queue 1 to 6 with the number 6; 5 and 4 are watched, and 4 has gone.
play asking(protocol::contender::settings s = {.mark_queues_from = 6})
{
    play p{std::move(s)};
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(6) == "");
    BOOST_TEST(p.listed({1, 2, 3, 4, 5, 6}) == "watch 6, watch 5, watch 4, read directory");
    BOOST_TEST(p.watched(6) == "");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.watched(4) == "");
    BOOST_TEST(p.directory_read(true) == "");
    BOOST_TEST(p.deleted(4) == "read directory");
    return p;
}

// Granted by a mark, in a directory that is known to be colock's.
play holding_behind_a_mark()
{
    auto p = asking();
    BOOST_TEST(p.directory_read(true, 4) == "");
    BOOST_TEST(p.deleted(5) == "granted");
    return p;
}

BOOST_AUTO_TEST_CASE(a_mark_spares_the_listing)
{
    auto p = asking();
    BOOST_TEST(!(*p).is_next());
    BOOST_TEST(p.directory_read(true, 4) == "");
    BOOST_TEST((*p).is_next());
    BOOST_TEST(p.deleted(5) == "granted");
    BOOST_TEST(p.leave() == "remove and mark 6");
    BOOST_TEST(p.removed() == "unwatch 6, gone");
}

// The own node is there, and its predecessor, too: nobody has heard of its end.
BOOST_AUTO_TEST_CASE(G1_a_mark_that_cannot_be_true_is_refused_for_good)
{
    for (const std::int64_t mark : {5, 6, 7, 2147483647}) {
        auto p = asking();
        BOOST_TEST(p.directory_read(true, mark) ==
                   "mark refused " + std::to_string(mark) + ", list");
        BOOST_TEST(p.listed({1, 2, 3, 5, 6}) == "watch 3");
        BOOST_TEST(p.watched(3) == "");
        BOOST_TEST(p.deleted(3) == "list"); // without another look at the mark
        BOOST_TEST(p.listed({1, 5, 6}) == "watch 1");
        BOOST_TEST(p.deleted(5) == "");
        BOOST_TEST(p.watched(1) == "");
        BOOST_TEST(p.deleted(1) == "granted");
        BOOST_TEST(p.leave() == "remove 6"); // the queue was short by then
    }
}

BOOST_AUTO_TEST_CASE(G1_a_mark_that_cannot_be_true_is_seen_when_the_directory_is_inspected)
{
    play p{{.mark_queues_from = 6}};
    p.join();
    p.created(6);
    p.listed({1, 2, 3, 4, 5, 6});
    p.watched(6);
    p.watched(5);
    p.watched(4);
    BOOST_TEST(p.directory_read(true, 9) == "mark refused 9, list");
    BOOST_TEST(p.listed({1, 2, 3, 4, 5, 6}) == "");
    BOOST_TEST(p.deleted(4) == "list");
}

// It may have gone, and others behind it: then the mark is no proof of anything, nor is it a lie.
BOOST_AUTO_TEST_CASE(G1_a_mark_of_the_own_number_is_no_proof_while_the_own_node_is_not_watched)
{
    auto p = asking();
    BOOST_TEST(p.changed(6) == "watch 6");
    BOOST_TEST(p.deleted(5) == "");
    BOOST_TEST(p.directory_read(true, 6) == "list");
}

BOOST_AUTO_TEST_CASE(a_mark_comes_when_the_nearest_one_has_gone)
{
    auto p = asking();
    BOOST_TEST(p.deleted(5) == "");
    BOOST_TEST(p.directory_read(true, 4) == "granted");

    auto q = asking();
    BOOST_TEST(q.deleted(5) == "");
    BOOST_TEST(q.directory_read(true, 3) == "list");
    BOOST_TEST(q.listed({2, 6}) == "watch 2");
}

// A contender that left its place early writes no mark, nor does a foreign contender.
BOOST_AUTO_TEST_CASE(without_a_mark_of_the_one_that_has_gone_it_lists)
{
    for (const std::int64_t mark : {-1, 0, 3}) {
        auto p = asking();
        BOOST_TEST(p.directory_read(true, mark) == "list");
        BOOST_TEST(p.listed({2, 5, 6, 7, 8, 9}) == "watch 2");
        BOOST_TEST(p.watched(2) == "");
        BOOST_TEST(p.deleted(2) == ""); // both were in sight
        BOOST_TEST(p.deleted(5) == "granted");
        BOOST_TEST(p.leave() == "remove and mark 6"); // it has seen whose the directory is
    }
    for (const auto& ec : {throttled, no_auth, no_node}) {
        auto p = asking();
        BOOST_TEST(p.directory_read(ec) == "list");
        BOOST_TEST(p.listed({5, 6}) == "");
        BOOST_TEST(p.deleted(5) == "granted");
        BOOST_TEST(p.leave() == "remove 6"); // the queue is short now
    }
}

BOOST_AUTO_TEST_CASE(somebody_elses_directory_is_not_written_to)
{
    for (const auto& ec : {error_code{}, no_auth}) {
        play p{{.mark_queues_from = 6}};
        BOOST_TEST(p.join() == "create #1, list");
        BOOST_TEST(p.created(6) == "");
        BOOST_TEST(p.listed({1, 2, 3, 4, 5, 6}) == "watch 6, watch 5, watch 4, read directory");
        BOOST_TEST(p.watched(6) == "");
        BOOST_TEST(p.watched(5) == "");
        BOOST_TEST(p.watched(4) == "");
        BOOST_TEST((ec ? p.directory_read(ec) : p.directory_read(false)) == "");
        BOOST_TEST(p.deleted(4) == "list"); // nor asked for a mark
        BOOST_TEST(p.listed({5, 6, 7, 8, 9, 10}) == "");
        BOOST_TEST(p.deleted(5) == "granted");
        BOOST_TEST(p.leave() == "remove 6");
    }
}

// Of two answers the first one may be older than the departure. What it says is true nevertheless.
BOOST_AUTO_TEST_CASE(asks_for_a_mark_before_it_knows_whose_the_directory_is)
{
    for (const std::int64_t mark : {3, 4}) {
        play p{{.mark_queues_from = 6}};
        BOOST_TEST(p.join() == "create #1, list");
        BOOST_TEST(p.created(6) == "");
        BOOST_TEST(p.listed({1, 2, 3, 4, 5, 6}) == "watch 6, watch 5, watch 4, read directory");
        BOOST_TEST(p.watched(6) == "");
        BOOST_TEST(p.watched(5) == "");
        BOOST_TEST(p.watched(4) == "");
        BOOST_TEST(p.deleted(4) == "read directory");
        BOOST_TEST(p.directory_read(true, mark) == (mark == 4 ? "" : "list"));
        BOOST_TEST(p.directory_read(true, 4) == "");
    }
}

BOOST_AUTO_TEST_CASE(a_directory_that_is_recognised_is_not_inspected)
{
    play p{{.mark_queues_from = 6}};
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(6) == "");
    p.recognised = true;
    BOOST_TEST(p.listed({1, 2, 3, 4, 5, 6}) == "watch 6, watch 5, watch 4");
    BOOST_TEST(p.watched(4) == "");
    BOOST_TEST(p.deleted(4) == "read directory");
    BOOST_TEST(p.directory_read(true, 4) == "");
}

// Which may be another one than that in which the own node comes to be.
BOOST_AUTO_TEST_CASE(a_directory_is_recognised_by_a_list_with_the_own_node)
{
    const auto join_again = [](play& p) {
        BOOST_TEST(p.created(6) == "");
        p.recognised = false;
        BOOST_TEST(p.listed({1, 2, 3, 4, 5, 6}) == "watch 6, watch 5, watch 4, read directory");
    };
    play trying{{.mark_queues_from = 6}};
    trying.recognised = true;
    BOOST_TEST(trying.try_join() == "list");
    BOOST_TEST(trying.listed({}) == "create #1, list");
    BOOST_TEST(trying.created(1) == "");
    BOOST_TEST(trying.listed({1}) == "granted");

    play stale{{.mark_queues_from = 6}};
    BOOST_TEST(stale.join() == "create #1, list");
    BOOST_TEST(stale.created(4) == "");
    BOOST_TEST(stale.listed({1, 2, 3, 4}) == "watch 4, watch 3, watch 2");
    for (const int n : {4, 3, 2}) {
        BOOST_TEST(stale.watched(n) == "");
    }
    BOOST_TEST(stale.deleted(2) == "list");
    BOOST_TEST(stale.deleted(4) == "unwatch 3, create #2, list");
    stale.recognised = true;
    BOOST_TEST(stale.listed({1, 3}) == ""); // of the join before
    join_again(stale);

    play removed{{.mark_queues_from = 6}};
    removed.recognised = true;
    BOOST_TEST(removed.join() == "create #1, list");
    BOOST_TEST(removed.created(4) == "");
    BOOST_TEST(removed.listed({1, 2, 3}) ==
               "create #2, list"); // it was deleted, and perhaps all the rest
    join_again(removed);
}

BOOST_AUTO_TEST_CASE(a_short_queue_has_no_marks)
{
    play p{{.mark_queues_from = 7}};
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(6) == "");
    BOOST_TEST(p.listed({1, 2, 3, 4, 5, 6}) == "watch 6, watch 5, watch 4");
    BOOST_TEST(p.watched(6) == "");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.watched(4) == "");
    BOOST_TEST(p.deleted(4) == "list");
}

BOOST_AUTO_TEST_CASE(a_queue_with_readers_has_no_marks)
{
    const auto layout = curator_shared_layout();
    protocol::directory_memory memory;
    protocol::contender c{{.layout = layout, .mark_queues_from = 1}, guid{1, 1}};
    c.lend(memory);
    commands out;
    c.join(true, session, out);
    const auto own = out.front().name + digits(4);
    c.created({}, own, {1004, session}, out);
    std::vector<std::string> children{own};
    for (int i = 0; i != 4; ++i) {
        children.push_back("_c_99999999-0000-0000-0000-000000000000-" +
                           (i == 2 ? layout.shared_marker : layout.marker) + digits(i));
    }
    c.listed({}, {.children = children}, out);
    out.clear();
    c.watched(children[3], no_node, {}, out); // the reader, its predecessor
    BOOST_TEST((out == commands{{command::kind::list}}));
}

// The one at the front may leave before it has held the lock.
BOOST_AUTO_TEST_CASE(who_has_not_held_the_lock_writes_no_mark)
{
    auto p = asking();
    BOOST_TEST(p.directory_read(true, 4) == "");
    BOOST_TEST(p.leave() == "unwatch 5, remove 6");
}

BOOST_AUTO_TEST_CASE(G3_a_mark_that_is_refused_does_not_keep_the_node)
{
    auto p = holding_behind_a_mark();
    BOOST_TEST(p.leave() == "remove and mark 6");
    BOOST_TEST(p.removed(throttled) == "remove and mark 6");
    BOOST_TEST(p.removed(no_auth) == "remove 6");
    BOOST_TEST(p.removed(throttled) == "remove 6");
    BOOST_TEST(p.broken({"remove"}) == "");
    BOOST_TEST(p.connected() == "remove 6");
    BOOST_TEST(p.removed() == "gone");

    auto q = holding_behind_a_mark();
    BOOST_TEST(q.leave() == "remove and mark 6");
    BOOST_TEST(q.removed(no_auth) == "remove 6");
    BOOST_TEST(q.removed(no_auth) == "unwatch 6, gone: " + std::to_string(no_auth.value()));
}

BOOST_AUTO_TEST_CASE(G5_a_mark_that_comes_too_late_tells_of_the_loss)
{
    auto p = holding_behind_a_mark();
    BOOST_TEST(p.leave() == "remove and mark 6");
    BOOST_TEST(p.removed(no_node) == "lost: node_deleted, unwatch 6, gone");

    // But it may have been the transaction itself, of which nothing was heard.
    auto q = holding_behind_a_mark();
    BOOST_TEST(q.leave() == "remove and mark 6");
    BOOST_TEST(q.broken({"remove"}) == "");
    BOOST_TEST(q.connected() == "remove and mark 6");
    BOOST_TEST(q.removed(no_node) == "gone");
}

BOOST_AUTO_TEST_CASE(a_mark_is_forgotten_with_the_connection)
{
    auto p = asking();
    BOOST_TEST(p.broken({"read directory"}) == "");
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.listed({2, 3, 5, 6}) == "watch 6, watch 5, watch 3");
    BOOST_TEST(p.watched(6) == "");
    BOOST_TEST(p.deleted(5) == "");
    BOOST_TEST(p.watched(5, no_node) == "list");
}

// The answer belongs to the node that is gone.
BOOST_AUTO_TEST_CASE(a_mark_for_an_earlier_join_is_not_taken)
{
    auto p = asking();
    BOOST_TEST(p.deleted(6) == "unwatch 5, create #2, list");
    BOOST_TEST(p.directory_read(true, 4) == "");
    BOOST_TEST(p.created(10) == "");
    BOOST_TEST(p.listed({5, 6, 7, 8, 9, 10}) == "watch 10, watch 9, watch 8, read directory");
    for (const int number : {10, 9, 8}) {
        BOOST_TEST(p.watched(number) == "");
    }
    BOOST_TEST(p.directory_read(true, 4) == "");
    BOOST_TEST(p.deleted(8) == "read directory"); // 5 to 7 may be there
}

BOOST_AUTO_TEST_CASE(leaves_while_it_asks_for_a_mark)
{
    auto p = asking();
    BOOST_TEST(p.leave() == "unwatch 5, remove 6");
    BOOST_TEST(p.directory_read(true, 4) == "");
    BOOST_TEST(p.removed() == "unwatch 6, gone");
}

BOOST_AUTO_TEST_CASE(near_their_end_there_are_no_marks)
{
    play p{{.mark_queues_from = 1}};
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(protocol::drain_from_number) == "");
    BOOST_TEST(p.listed({p.made(protocol::drain_from_number)}) == "read directory, list");
    BOOST_TEST(p.directory_read(true) == "");
    BOOST_TEST(p.listed({p.made(protocol::drain_from_number)}) == "granted");
    BOOST_TEST(p.leave().starts_with("remove "));
}

BOOST_AUTO_TEST_SUITE_END()
