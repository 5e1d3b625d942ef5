// What a contender says to each input: the scenarios of the queue protocol, one by one. That it is
// right in every order of events is the business of test/model; here is what it costs, and what it
// does about errors that only a person can cause.

#include "protocol/contender.hpp"

#include "protocol/directory/data.hpp"
#include "words.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

using namespace colock;
using colock::protocol::command;
using colock::protocol::commands;
using colock::protocol::guid;
using colock::protocol::node_identity;

namespace {

constexpr std::int64_t session = 0x51;
const error_code lost_connection = zookeeper_errc::connection_loss;
const error_code no_node = zookeeper_errc::no_node;
const error_code no_auth = zookeeper_errc::no_auth;
const error_code throttled = zookeeper_errc::throttled_op;

std::string digits(std::int64_t number)
{
    char text[16];
    std::snprintf(text, sizeof text, "%010lld", static_cast<long long>(number));
    return text;
}

// A contender, whose inputs return what it says to them, as a text: "create #1, list", where #1 is
// the join, or "watch 7", where 7 is the number of the node.
class play {
public:
    explicit play(protocol::contender::settings s = {})
        : contender_{s, guid{1, 1}}, layout_{s.layout}
    {
    }

    bool recognised = false; // the directory, whenever it is listed
    protocol::directory_memory memory;

    std::string join(bool connected = true)
    {
        lent().join(connected, session, out_);
        return said();
    }
    std::string try_join(bool connected = true)
    {
        lent().try_join(connected, session, out_);
        return said();
    }
    std::string leave()
    {
        lent().leave(out_);
        return said();
    }
    std::string watch_own_node()
    {
        lent().watch_own_node(out_);
        return said();
    }
    std::string connected(std::int64_t with = session)
    {
        lent().connected(with, out_);
        return said();
    }
    void assume_safe(bool safe) { contender_.assume_safe(safe); }
    std::string proved()
    {
        lent().proved(out_);
        return said();
    }
    void suspended() { lent().suspended(); }
    std::string expired()
    {
        lent().expired(out_);
        return said();
    }
    std::string directory_made(const error_code& ec = {})
    {
        lent().directory_made({&ec, 1}, 0, out_);
        return said();
    }
    std::string created(std::int64_t number, std::int64_t owner = session)
    {
        own_ = prefix_ + digits(number);
        lent().created({}, own_, {1000 + number, owner}, out_);
        return said();
    }
    std::string counted(std::int64_t number, bool alone)
    {
        own_ = prefix_ + digits(number);
        lent().counted({}, own_, {1000 + number, session},
                       {.now = {.czxid = 7, .version = 2, .children = alone ? 1 : 2}}, out_);
        return said();
    }
    std::string counted(const error_code& ec)
    {
        lent().counted(ec, {}, {}, {.error = ec}, out_);
        return said();
    }
    // The client has been alone there, and knows the directory.
    void expect_alone()
    {
        memory = {};
        memory.made(7);
        memory.granted_alone(0);
        memory.granted_alone(1);
        memory.marked(7, 1);
    }
    std::string created(const error_code& ec)
    {
        lent().created(ec, {}, {}, out_);
        return said();
    }
    std::string listed(const std::vector<std::string>& children)
    {
        if (recognised) {
            memory.read_in_queue(7, 1, true);
        } else {
            memory = {};
        }
        lent().listed({}, {.children = children, .directory = {.czxid = 7, .version = 1}}, out_);
        return said();
    }
    // Others by their numbers, and `own` by its name, if it is among them.
    std::string listed(std::initializer_list<int> numbers)
    {
        std::vector<std::string> children;
        for (const auto n : numbers) {
            children.push_back(name(n));
        }
        return listed(children);
    }
    std::string listed(const error_code& ec)
    {
        lent().listed(ec, {.children = {}}, out_);
        return said();
    }
    std::string watched(int number, std::int64_t owner = session)
    {
        lent().watched(name(number), {}, {1000 + number, owner}, out_);
        return said();
    }
    std::string watched(int number, const error_code& ec)
    {
        lent().watched(name(number), ec, {}, out_);
        return said();
    }
    std::string deleted(int number)
    {
        lent().fired(name(number), true, out_);
        return said();
    }
    std::string changed(int number)
    {
        lent().fired(name(number), false, out_);
        return said();
    }
    std::string directory_read(bool ours, std::int64_t mark = -1)
    {
        lent().directory_read({}, {.czxid = 7, .version = 1},
                              !ours       ? "somebody's"
                              : mark >= 0 ? protocol::data_with_mark(layout_, mark)
                                          : std::string{protocol::directory_mark},
                              out_);
        return said();
    }
    std::string directory_read(const error_code& ec)
    {
        lent().directory_read(ec, {}, {}, out_);
        return said();
    }
    std::string removed(const error_code& ec = {})
    {
        lent().removed(ec, out_);
        return said();
    }
    // The connection breaks. `open`: the requests that had not been answered.
    std::string broken(std::initializer_list<std::string_view> open)
    {
        std::string all;
        for (const auto request : open) {
            all += request == "make"             ? directory_made(lost_connection)
                   : request == "create"         ? created(lost_connection)
                   : request == "list"           ? listed(lost_connection)
                   : request == "read directory" ? directory_read(lost_connection)
                   : request == "remove"
                       ? removed(lost_connection)
                       : watched(std::stoi(std::string{request}), lost_connection);
        }
        suspended();
        return all;
    }

    // The name of a node: the own one where it has this number, else somebody's.
    [[nodiscard]] std::string name(int number) const
    {
        return own_.ends_with(digits(number)) ? own_ : foreign(number);
    }
    [[nodiscard]] static std::string foreign(std::int64_t number)
    {
        return "_c_99999999-0000-0000-0000-000000000000-lock-" + digits(number);
    }
    // What the last create made, as a listing shows it before its answer came.
    std::string made(int number) { return own_ = prefix_ + digits(number); }

    [[nodiscard]] const protocol::contender& operator*() const { return contender_; }

private:
    // As the driver does before each input.
    protocol::contender& lent()
    {
        contender_.lend(memory);
        return contender_;
    }

    std::string said()
    {
        std::string text;
        for (const auto& c : out_) {
            text += text.empty() ? "" : ", ";
            text += colock::test::word_for(c.type);
            if (c.type == command::kind::create || c.type == command::kind::create_and_count) {
                prefix_ = c.name;
                text += " #" + std::to_string(std::stoi(c.name.substr(27, 12), nullptr, 16));
            } else if (!c.name.empty()) {
                text += ' ' + std::to_string(std::stoll(c.name.substr(c.name.size() - 10)));
                if (c.type == command::kind::remove || c.type == command::kind::remove_and_mark) {
                    BOOST_TEST(c.name == own_); // never anybody else's
                }
            }
            if (c.type == command::kind::mark_refused) {
                text += ' ' + std::to_string(c.number);
            }
            if (c.error) {
                text += ": " + (c.error.category() == colock_category()
                                    ? std::string{short_name(static_cast<errc>(c.error.value()))}
                                    : std::to_string(c.error.value()));
            }
        }
        out_.clear();
        return text;
    }

    static const char* short_name(errc e)
    {
        switch (e) {
        case errc::session_expired: return "session_expired";
        case errc::node_deleted: return "node_deleted";
        case errc::conflicting_kind: return "conflicting_kind";
        case errc::sequence_exhausted: return "sequence_exhausted";
        case errc::duplicate_sequence: return "duplicate_sequence";
        default: return "?";
        }
    }

    protocol::contender contender_;
    layout layout_;
    commands out_;
    std::string prefix_;
    std::string own_;
};

// Waits behind two: 5 is its own number, 4 and 3 are watched.
play waiting()
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed({3, 4, 5}) == "watch 5, watch 4, watch 3");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.watched(4) == "");
    BOOST_TEST(p.watched(3) == "");
    return p;
}

// Holds the lock with the number 5, uncontended.
play holding()
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed({5}) == "granted");
    return p;
}

} // namespace

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
    BOOST_TEST(p.listed({"config", "0000000001", "ffffffff__lock__0000000002", p.name(5),
                         "_c_99999999-latch-0000000003", "lock-004"}) == "granted");
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

// ---- disconnected

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

// ---- those who expect nobody

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
    BOOST_TEST(p.counted(protocol::drain_from, true) == "list");
}

BOOST_AUTO_TEST_CASE(who_only_tries_lists_first)
{
    play p;
    p.expect_alone();
    BOOST_TEST(p.try_join() == "list");
    BOOST_TEST(p.listed({}) == "create #1, list");
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

// ---- the low-water mark in long queues

// Of the queue 1 to 6 with the number 6; 5 and 4 are watched, and 4 has gone.
play asking(protocol::contender::settings s = {.mark_from = 6})
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

// The own node is there, and the nearest one, too: nobody has heard of its end.
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
    play p{{.mark_from = 6}};
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

// Who has left its place early, and a foreign contender, write no mark.
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
        play p{{.mark_from = 6}};
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
        play p{{.mark_from = 6}};
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
    play p{{.mark_from = 6}};
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
    play trying{{.mark_from = 6}};
    trying.recognised = true;
    BOOST_TEST(trying.try_join() == "list");
    BOOST_TEST(trying.listed({}) == "create #1, list");
    BOOST_TEST(trying.created(1) == "");
    BOOST_TEST(trying.listed({1}) == "granted");

    play stale{{.mark_from = 6}};
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

    play removed{{.mark_from = 6}};
    removed.recognised = true;
    BOOST_TEST(removed.join() == "create #1, list");
    BOOST_TEST(removed.created(4) == "");
    BOOST_TEST(removed.listed({1, 2, 3}) ==
               "create #2, list"); // it was deleted, and perhaps all the rest
    join_again(removed);
}

BOOST_AUTO_TEST_CASE(a_short_queue_has_no_marks)
{
    play p{{.mark_from = 7}};
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
    protocol::contender c{{.layout = layout, .mark_from = 1}, guid{1, 1}};
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
    c.watched(children[3], no_node, {}, out); // the reader, which is the one ahead
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
    play p{{.mark_from = 1}};
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(protocol::drain_from) == "");
    BOOST_TEST(p.listed({p.made(protocol::drain_from)}) == "read directory, list");
    BOOST_TEST(p.directory_read(true) == "");
    BOOST_TEST(p.listed({p.made(protocol::drain_from)}) == "granted");
    BOOST_TEST(p.leave().starts_with("remove "));
}

// ---- numbers

BOOST_AUTO_TEST_CASE(at_the_end_a_directory_that_is_recognised_is_inspected)
{
    const auto end = protocol::drain_from;
    play joining, trying, lost;
    joining.recognised = trying.recognised = lost.recognised = true;
    BOOST_TEST(joining.join() == "create #1, list");
    BOOST_TEST(joining.created(end) == "");
    BOOST_TEST(joining.listed({joining.made(end)}) == "read directory, list");

    BOOST_TEST(trying.try_join() == "list");
    BOOST_TEST(trying.listed({}) == "create #1, list"); // its number is not known yet
    BOOST_TEST(trying.created(end) == "");
    BOOST_TEST(trying.listed({trying.made(end)}) == "read directory, list");

    BOOST_TEST(lost.join() == "create #1, list");
    BOOST_TEST(lost.broken({"create", "list"}) == "");
    BOOST_TEST(lost.connected() == "list");
    BOOST_TEST(lost.listed({lost.made(end)}) == "read directory, list");
}

BOOST_AUTO_TEST_CASE(sequence_exhausted_by_the_own_number)
{
    play last;
    BOOST_TEST(last.join() == "create #1, list");
    BOOST_TEST(last.created(protocol::last_number - 1) == "");
    last.recognised = true; // that is not enough to delete it
    BOOST_TEST(last.listed({last.name(protocol::last_number - 1)}) == "read directory, list");
    BOOST_TEST(last.directory_read(false) == "");
    BOOST_TEST(last.listed({last.name(protocol::last_number - 1)}) == "granted");

    for (const std::int64_t number :
         {protocol::last_number, std::int64_t{2147483647}, std::int64_t{-2147483648}}) {
        play p;
        BOOST_TEST(p.join() == "create #1, list");
        BOOST_TEST(p.created(number) == "");
        BOOST_TEST(p.listed({}) == "read directory, list");
        BOOST_TEST(p.directory_read(false) == "");
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
    BOOST_TEST(p.listed({p.made(2147483647)}) == "read directory, list");
    BOOST_TEST(p.directory_read(false) == "");
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
