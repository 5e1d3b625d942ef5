// What the contender of a lock without a queue says to each input, and what it does about errors that only a person
// can cause. That it is right in every order of events is the business of test/model.

#include "queue/single_node.hpp"

#include "words.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <limits>
#include <string>

namespace colock::test::single_node_test {

using colock::protocol::command;
using colock::protocol::commands;
using colock::protocol::node_identity;

namespace {

constexpr std::int64_t session = 0x51;
constexpr std::int64_t another = 0x52;
const error_code lost_connection = zookeeper_errc::connection_loss;
const error_code no_node = zookeeper_errc::no_node;
const error_code node_exists = zookeeper_errc::node_exists;
const error_code no_auth = zookeeper_errc::no_auth;
const error_code throttled = zookeeper_errc::throttled_op;

constexpr node_identity mine{1000, session};
constexpr node_identity theirs{1001, another};

// A contender, whose inputs return what it says to them, as a text: "create, watch".
struct play : protocol::single_node {
    explicit play(bool rejoin_on_expiry = true) : single_node{rejoin_on_expiry} {}

    std::string join(bool is_connected = true)
    {
        single_node::join(is_connected, session, out);
        return said();
    }
    std::string try_join()
    {
        single_node::try_join(true, session, out);
        return said();
    }
    std::string leave()
    {
        single_node::leave(out);
        return said();
    }
    std::string watch_own_node()
    {
        single_node::watch_own_node(out);
        return said();
    }
    std::string proved()
    {
        assume_safe(true);
        single_node::proved(out);
        return said();
    }
    std::string connected(std::int64_t with = session)
    {
        single_node::connected(with, out);
        return said();
    }
    std::string expired()
    {
        single_node::expired(out);
        return said();
    }
    std::string directory_made(const error_code& ec = {})
    {
        single_node::directory_made({&ec, 1}, out);
        return said();
    }
    std::string created(const error_code& ec = {})
    {
        single_node::created(ec, {}, ec ? node_identity{} : mine, out);
        return said();
    }
    std::string looked(node_identity found, bool spoken_for = false)
    {
        single_node::looked({}, found, spoken_for, out);
        return said();
    }
    std::string looked(const error_code& ec)
    {
        single_node::looked(ec, {}, false, out);
        return said();
    }
    std::string watched(node_identity found)
    {
        single_node::watched({}, {}, found, out);
        return said();
    }
    std::string watched(const error_code& ec)
    {
        single_node::watched({}, ec, {}, out);
        return said();
    }
    std::string fired(bool deleted = true)
    {
        single_node::fired({}, deleted, out);
        return said();
    }
    std::string removed(const error_code& ec = {})
    {
        single_node::removed(ec, out);
        return said();
    }

    std::string said()
    {
        std::string text;
        for (const auto& c : out) {
            text += (text.empty() ? "" : ", ") + colock::test::word_for(c.type);
            BOOST_TEST(c.name.empty());
            if (c.error) {
                text +=
                    ' ' + (c.error.category() == colock_category() ? std::to_string(c.error.value())
                                                                   : c.error.message());
            }
        }
        out.clear();
        return text;
    }

    commands out;
};

std::string with(const char* what, errc why)
{
    return std::string{what} + ' ' + std::to_string(static_cast<int>(why));
}

} // namespace

BOOST_AUTO_TEST_SUITE(single_node)

BOOST_AUTO_TEST_CASE(one_write_to_take_it_and_one_to_give_it_back)
{
    play p;
    BOOST_TEST(p.join() == "create");
    BOOST_TEST(!p.holds());
    BOOST_TEST(p.created() == "granted");
    BOOST_TEST(p.holds());
    BOOST_TEST((p.identity() == mine));
    BOOST_TEST(p.leave() == "remove");
    BOOST_TEST(!p.holds());
    BOOST_TEST(p.removed() == "gone");
    BOOST_TEST(p.leave() == "");
}

BOOST_AUTO_TEST_CASE(it_waits_for_the_node_to_go_and_tries_again)
{
    play p;
    BOOST_TEST(p.join(false) == "");
    BOOST_TEST(p.connected() == "create");
    BOOST_TEST(p.created(node_exists) == "watch");
    BOOST_TEST(p.watched(theirs) == "");
    BOOST_TEST(p.fired(false) == "watch"); // it was written to
    BOOST_TEST(p.watched(theirs) == "");
    BOOST_TEST(p.fired() == "create");
    BOOST_TEST(p.created(node_exists) == "watch"); // another one was quicker
    BOOST_TEST(p.watched(no_node) == "create");    // and has gone already
    BOOST_TEST(p.created() == "granted");
    BOOST_TEST(p.watch_own_node() == "watch");
    BOOST_TEST(p.watch_own_node() == "");
}

BOOST_AUTO_TEST_CASE(it_looks_first_when_one_of_its_own_session_lets_go)
{
    play p;
    p.yield_turn(true);
    BOOST_TEST(p.join() == "watch");
    BOOST_TEST(p.watched(no_node) == "create");
}

BOOST_AUTO_TEST_CASE(the_directory_is_missing)
{
    play p;
    p.join();
    BOOST_TEST(p.created(no_node) == "make directory");
    BOOST_TEST(p.directory_made(throttled) == "make directory");
    BOOST_TEST(p.directory_made() == "create");
    p.created(no_node);
    BOOST_TEST(p.directory_made(no_auth) == "failed " + no_auth.message() + ", gone");
}

BOOST_AUTO_TEST_CASE(a_try_reads_before_it_writes)
{
    play busy;
    BOOST_TEST(busy.try_join() == "look");
    BOOST_TEST(busy.looked(theirs) == "busy, gone");

    play free;
    free.try_join();
    BOOST_TEST(free.looked(no_node) == "create");
    BOOST_TEST(free.created() == "granted");

    play late;
    late.try_join();
    late.looked(no_node);
    BOOST_TEST(late.created(node_exists) == "busy, gone");
}

BOOST_AUTO_TEST_CASE(the_directory_of_another_kind_of_lock)
{
    play p;
    p.join();
    p.created(node_exists);
    BOOST_TEST(p.watched({1001, 0, true}) ==
               with("failed", errc::conflicting_kind) + ", unwatch, gone");
    play trying;
    trying.try_join();
    BOOST_TEST(trying.looked({1001, 0, true}) == with("failed", errc::conflicting_kind) + ", gone");
}

BOOST_AUTO_TEST_CASE(a_node_that_is_not_ephemeral)
{
    constexpr auto an_hour_to_live = static_cast<std::int64_t>(0xff00'0000'0036'ee80);
    for (const auto owner :
         {std::int64_t{0}, std::numeric_limits<std::int64_t>::min(), an_hour_to_live}) {
        play waiting;
        waiting.join();
        waiting.created(node_exists);
        BOOST_TEST(waiting.watched({1001, owner}) ==
                   with("failed", errc::not_ephemeral) + ", unwatch, gone");
        play trying;
        trying.try_join();
        BOOST_TEST(trying.looked({1001, owner}) == with("failed", errc::not_ephemeral) + ", gone");
    }
}

// The server's number is in the highest byte of a session.
BOOST_AUTO_TEST_CASE(a_session_that_began_at_the_server_255)
{
    play waiting;
    waiting.join();
    waiting.created(node_exists);
    BOOST_TEST(waiting.watched({1001, static_cast<std::int64_t>(0xff01'9b2c'4d5e'0000)}) == "");
}

BOOST_AUTO_TEST_CASE(a_create_of_unknown_outcome)
{
    const auto lost = [](play& p) {
        p.join();
        BOOST_TEST(p.created(lost_connection) == "");
        p.suspended();
        BOOST_TEST(p.connected() == "look");
    };
    play made;
    lost(made);
    BOOST_TEST(made.looked(mine) == "granted");

    play not_made;
    lost(not_made);
    BOOST_TEST(not_made.looked(throttled) == "look");
    BOOST_TEST(not_made.looked(no_node) == "create");

    play others;
    lost(others);
    BOOST_TEST(others.looked(theirs) == "watch");

    play siblings; // G1: of the same session, and another one's
    lost(siblings);
    BOOST_TEST(siblings.looked(mine, true) == "watch");

    play unwanted; // G3
    lost(unwanted);
    BOOST_TEST(unwanted.leave() == "");
    BOOST_TEST(unwanted.looked(mine) == "remove");
    BOOST_TEST(unwanted.removed() == "gone");

    play unwanted_siblings;
    lost(unwanted_siblings);
    unwanted_siblings.leave();
    BOOST_TEST(unwanted_siblings.looked(mine, true) == "gone");
}

BOOST_AUTO_TEST_CASE(a_remove_of_unknown_outcome_is_not_repeated_blindly)
{
    const auto lost = [](play& p) {
        p.join();
        p.created();
        p.leave();
        BOOST_TEST(p.removed(lost_connection) == "");
        p.suspended();
        BOOST_TEST(p.connected() == "look");
    };
    play done;
    lost(done);
    BOOST_TEST(done.looked(no_node) == "gone");

    play open;
    lost(open);
    BOOST_TEST(open.looked(mine) == "remove");
    BOOST_TEST(open.removed() == "gone");

    play taken; // G1
    lost(taken);
    BOOST_TEST(taken.looked(theirs) == "gone");

    play taken_by_a_sibling; // G1
    lost(taken_by_a_sibling);
    BOOST_TEST(taken_by_a_sibling.looked({1002, session}) == "gone");
}

BOOST_AUTO_TEST_CASE(a_release_without_a_connection_looks_first)
{
    play p;
    p.join();
    p.created();
    p.suspended();
    BOOST_TEST(p.leave() == "");
    BOOST_TEST(p.connected() == "look");
    BOOST_TEST(p.looked(theirs) == with("lost", errc::node_deleted) + ", gone"); // G5
}

BOOST_AUTO_TEST_CASE(a_holder_whose_node_is_gone)
{
    const auto hold = [](play& p) {
        p.join();
        p.created();
        p.watch_own_node();
    };
    const auto lost = with("lost", errc::node_deleted);
    play told;
    hold(told);
    told.watched(mine);
    BOOST_TEST(told.fired() ==
               lost + ", gone"); // and removes nothing: the path may be somebody else's

    play late;
    hold(late);
    BOOST_TEST(late.watched(no_node) == lost + ", gone");

    play replaced;
    hold(replaced);
    BOOST_TEST(replaced.watched(theirs) == "unwatch, " + lost + ", gone");

    play at_the_release;
    hold(at_the_release);
    at_the_release.leave();
    BOOST_TEST(at_the_release.removed(no_node) == lost + ", unwatch, gone");

    play after_a_break;
    hold(after_a_break);
    after_a_break.watched(lost_connection);
    after_a_break.suspended();
    BOOST_TEST(after_a_break.connected() == "watch");
    BOOST_TEST(after_a_break.watched(theirs) == "unwatch, " + lost + ", gone");
}

BOOST_AUTO_TEST_CASE(the_session_ends)
{
    play holder;
    holder.join();
    holder.created();
    BOOST_TEST(holder.expired() == with("lost", errc::session_expired) + ", gone");

    play waiting;
    waiting.join();
    waiting.created(node_exists);
    waiting.watched(theirs);
    BOOST_TEST(waiting.expired() == "");
    BOOST_TEST(waiting.connected(another) == "create");

    play impatient{false};
    impatient.join();
    impatient.created(node_exists);
    impatient.watched(lost_connection);
    BOOST_TEST(impatient.expired() == with("failed", errc::session_expired) + ", gone");

    play leaving;
    leaving.join();
    leaving.created();
    leaving.leave();
    leaving.removed(lost_connection);
    BOOST_TEST(leaving.expired() == "gone");
}

BOOST_AUTO_TEST_CASE(nothing_is_granted_without_a_proof)
{
    play p;
    p.assume_safe(false);
    p.join();
    BOOST_TEST(p.created() == "prove");
    BOOST_TEST(p.proved() == "watch"); // the node may have been deleted meanwhile
    BOOST_TEST(p.watched(mine) == "granted");

    play vanished;
    vanished.assume_safe(false);
    vanished.join();
    vanished.created();
    vanished.proved();
    BOOST_TEST(vanished.watched(theirs) == "unwatch, create");
}

// As a contender of a queue does.
BOOST_AUTO_TEST_CASE(G1_granted_once_when_the_session_is_safe_before_the_proof_comes)
{
    play p;
    p.assume_safe(false);
    p.join();
    BOOST_TEST(p.created() == "prove");
    p.suspended();
    BOOST_TEST(p.connected() == "watch");
    BOOST_TEST(p.watched(mine) == "prove");
    BOOST_TEST(p.fired(false) == "watch");
    p.assume_safe(true);
    BOOST_TEST(p.watched(mine) == "granted");
    BOOST_TEST(p.proved() == "");
}

BOOST_AUTO_TEST_CASE(errors_of_the_server)
{
    play create;
    create.join();
    BOOST_TEST(create.created(throttled) == "create");
    BOOST_TEST(create.created(no_auth) == "failed " + no_auth.message() + ", gone");

    play watch;
    watch.join();
    watch.created(node_exists);
    BOOST_TEST(watch.watched(throttled) == "watch");
    BOOST_TEST(watch.watched(no_auth) == "failed " + no_auth.message() + ", gone");

    play remove;
    remove.join();
    remove.created();
    remove.leave();
    BOOST_TEST(remove.removed(throttled) == "remove");
    BOOST_TEST(remove.removed(no_auth) == "gone " + no_auth.message());

    play look;
    look.join();
    look.created(lost_connection);
    look.suspended();
    look.connected();
    BOOST_TEST(look.looked(no_auth) ==
               "failed " + no_auth.message() + ", gone " + no_auth.message());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::single_node_test
