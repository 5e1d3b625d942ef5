// What a contender says when the numbers of its directory are nearly used up. That it is right in every order of
// events is the business of test/model/sequence_end.cpp.

#include "protocol/contender.hpp"
#include "protocol/directory/data.hpp"
#include "words.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

using namespace colock;
using colock::protocol::command;
using colock::protocol::commands;
using colock::protocol::contender;
using colock::protocol::drain_from_number;
using colock::protocol::guid;
using colock::protocol::last_number;

namespace {

constexpr std::int64_t session = 7;
const error_code no_node = zookeeper_errc::no_node;
const error_code lost_connection = zookeeper_errc::connection_loss;

std::string foreign(std::int64_t number, const char* marker = "-lock-")
{
    char digits[24];
    std::snprintf(digits, sizeof digits, "%010lld", static_cast<long long>(number));
    return std::string{"_c_99999999-0000-0000-0000-000000000000"} + marker + digits;
}

// Numbers are told from drain_from_number on: "watch +3".
struct play {
    explicit play(contender::settings s = {}) : c{s, guid{1, 1}} { c.lend(memory); }
    play(const play&) = delete;

    std::string join()
    {
        c.join(true, session, out);
        return said();
    }
    std::string created(std::int64_t number)
    {
        char digits[24];
        std::snprintf(digits, sizeof digits, "%010lld", static_cast<long long>(number));
        own = prefix + digits;
        c.created({}, own, {100, session}, out);
        return said();
    }
    std::string listed(const std::vector<std::string>& children, const error_code& ec = {})
    {
        c.listed(ec, {.children = children}, out);
        return said();
    }
    void directory_read(bool ours, const error_code& ec = {})
    {
        c.directory_read(ec, {}, ours ? colock::protocol::directory_signature : "somebody's", out);
    }
    std::string watched(std::int64_t number, const error_code& ec = {})
    {
        c.watched(foreign(number), ec, {}, out);
        return said();
    }
    std::string deleted(std::int64_t number)
    {
        c.fired(foreign(number), true, out);
        return said();
    }
    std::string removed(const error_code& ec = {})
    {
        c.removed(ec, out);
        return said();
    }
    std::string leave()
    {
        c.leave(out);
        return said();
    }
    std::string connected()
    {
        c.connected(session, out);
        return said();
    }
    // The number is given, the directory looked at, and listed.
    std::string late(std::int64_t number, std::vector<std::string> others, bool ours = true)
    {
        BOOST_TEST(join() == "create, list");
        BOOST_TEST(created(number) == "");
        others.push_back(own);
        BOOST_TEST(listed(others) == "read directory, list");
        directory_read(ours);
        return listed(others);
    }

    std::string said()
    {
        std::string text;
        for (const auto& each : out) {
            const std::string name{each.name};
            text += (text.empty() ? "" : ", ") + colock::test::word_for(each.type);
            if (each.type == command::kind::create) {
                prefix = name;
            } else if (!name.empty()) {
                text += ' ' + std::to_string(std::stoll(name.substr(name.size() - 10)) -
                                             drain_from_number);
            }
            if (each.error) {
                text += ": " + std::to_string(each.error.value());
            }
        }
        out.clear();
        return text;
    }

    colock::protocol::directory_memory memory;
    contender c;
    commands out;
    std::string prefix, own;
};

} // namespace

BOOST_AUTO_TEST_SUITE(sequence_end)

BOOST_AUTO_TEST_CASE(before_it_nothing_is_asked)
{
    play p;
    BOOST_TEST(p.join() == "create, list");
    BOOST_TEST(p.created(drain_from_number - 1) == "");
    BOOST_TEST(p.listed({p.own}) == "granted");
    BOOST_TEST(!p.c.newcomers_drain());
    BOOST_TEST(p.leave() == "remove -1");
}

BOOST_AUTO_TEST_CASE(the_first_one_is_granted_and_deletes_the_directory_behind_its_node)
{
    play p;
    BOOST_TEST(p.late(drain_from_number, {}) == "granted");
    BOOST_TEST(p.c.newcomers_drain());
    BOOST_TEST(p.leave() == "remove 0, remove directory");
    BOOST_TEST(p.removed() == "gone");
}

BOOST_AUTO_TEST_CASE(who_finds_others_drains_until_the_queue_is_empty)
{
    play p;
    BOOST_TEST(p.late(drain_from_number + 3,
                      {foreign(drain_from_number + 1), foreign(drain_from_number + 2)}) ==
               "remove 3, watch 1"); // the first one: the others hold back, too
    BOOST_TEST(p.c.waits_without_place());
    BOOST_TEST(p.removed() == "");
    BOOST_TEST(p.watched(drain_from_number + 1) == "");
    BOOST_TEST(p.deleted(drain_from_number + 1) == "list");
    BOOST_TEST(p.listed({foreign(drain_from_number + 4)}) == "watch 4"); // no number was used
    BOOST_TEST(p.watched(drain_from_number + 4, no_node) == "list");
    BOOST_TEST(p.listed({}) == "create, list");
    BOOST_TEST(p.created(drain_from_number + 5) == "");
}

BOOST_AUTO_TEST_CASE(who_has_come_before_stays_and_the_last_of_them_is_waited_for)
{
    play p;
    BOOST_TEST(p.late(drain_from_number + 1,
                      {foreign(drain_from_number - 2), foreign(drain_from_number - 1),
                       foreign(drain_from_number)}) == "remove 1, watch -1");
}

BOOST_AUTO_TEST_CASE(the_directory_is_made_anew)
{
    play p;
    BOOST_TEST(p.late(drain_from_number + 1, {foreign(drain_from_number)}) == "remove 1, watch 0");
    BOOST_TEST(p.removed() == "");
    BOOST_TEST(p.watched(drain_from_number, no_node) == "list");
    BOOST_TEST(p.listed({}, no_node) == "make directory");
    const error_code made;
    p.c.directory_made({&made, 1}, 7, p.out);
    BOOST_TEST(p.said() == "create, list");
    BOOST_TEST(p.created(0) == "");
    BOOST_TEST(p.listed({p.own}) == "granted");
}

BOOST_AUTO_TEST_CASE(a_fresh_directory_is_joined_whoever_is_in_it)
{
    play p;
    BOOST_TEST(p.late(drain_from_number + 1, {foreign(drain_from_number)}) == "remove 1, watch 0");
    BOOST_TEST(p.removed() == "");
    BOOST_TEST(p.watched(drain_from_number, no_node) == "list");
    BOOST_TEST(p.listed({foreign(0), foreign(1)}) == "create, list");
}

BOOST_AUTO_TEST_CASE(a_reader_drains_behind_a_reader)
{
    play p{{.layout = curator_shared_layout(), .shared = true}};
    BOOST_TEST(p.late(drain_from_number + 1, {foreign(drain_from_number, "__READ__")}) ==
               "remove 1, watch 0");
}

BOOST_AUTO_TEST_CASE(nobody_drains_in_a_directory_that_is_to_stay)
{
    play somebodys;
    BOOST_TEST(somebodys.late(drain_from_number + 1, {foreign(drain_from_number)}, false) ==
               "watch 1, watch 0");
    BOOST_TEST(somebodys.leave() == "unwatch 0, remove 1");
    play with_a_stranger;
    BOOST_TEST(with_a_stranger.late(drain_from_number + 1, {foreign(drain_from_number),
                                                            "stranger"}) == "watch 1, watch 0");
    BOOST_TEST(with_a_stranger.leave() == "unwatch 0, remove 1");
}

BOOST_AUTO_TEST_CASE(a_directory_that_must_not_be_read_is_to_stay)
{
    play p;
    BOOST_TEST(p.join() == "create, list");
    BOOST_TEST(p.created(drain_from_number) == "");
    BOOST_TEST(p.listed({p.own}) == "read directory, list");
    p.directory_read(false, zookeeper_errc::throttled_op);
    BOOST_TEST(p.listed({p.own}) == "read directory, list"); // again
    p.directory_read(false, zookeeper_errc::no_auth);
    BOOST_TEST(p.listed({p.own}) == "granted");
    BOOST_TEST(p.leave() == "remove 0");
}

BOOST_AUTO_TEST_CASE(who_drains_may_leave)
{
    play p;
    BOOST_TEST(p.late(drain_from_number + 1, {foreign(drain_from_number)}) == "remove 1, watch 0");
    BOOST_TEST(p.leave() == "unwatch 0");
    BOOST_TEST(p.removed() == "gone");
    play q;
    BOOST_TEST(q.late(drain_from_number + 1, {foreign(drain_from_number)}) == "remove 1, watch 0");
    BOOST_TEST(q.removed() == "");
    BOOST_TEST(q.leave() == "unwatch 0, gone");
}

BOOST_AUTO_TEST_CASE(who_drains_looks_again_after_a_reconnection)
{
    play p;
    BOOST_TEST(p.late(drain_from_number + 1, {foreign(drain_from_number)}) == "remove 1, watch 0");
    BOOST_TEST(p.removed(lost_connection) == "");
    BOOST_TEST(p.watched(drain_from_number, lost_connection) == "");
    p.c.suspended();
    BOOST_TEST(p.connected() == "remove 1");
    BOOST_TEST(p.removed(no_node) == "list");
    BOOST_TEST(p.listed({foreign(drain_from_number)}) == "watch 0");
    BOOST_TEST(p.watched(drain_from_number) == "");
    p.c.suspended();
    BOOST_TEST(p.connected() == "list");
}

BOOST_AUTO_TEST_CASE(a_number_that_may_come_again_is_refused_and_the_directory_deleted)
{
    for (const auto number : {last_number, (std::int64_t{1} << 31) - 1}) {
        play p;
        BOOST_TEST(p.late(number, {}).starts_with("failed: "));
        BOOST_TEST(p.removed() == "gone");
    }
    play p;
    BOOST_TEST(p.late(last_number, {}).ends_with(", remove directory"));
}

BOOST_AUTO_TEST_CASE(without_draining_it_is_refused_and_the_directory_stays)
{
    for (const auto number : {last_number, std::int64_t{-2'147'483'648}}) {
        play p{{.drains_at_end = false}};
        p.memory.read_in_queue(0, 0, true); // the directory is known to be colock's
        BOOST_TEST(p.join() == "create, list");
        BOOST_TEST(p.created(number) == "");
        const auto said = p.listed({p.own});
        BOOST_TEST(said.starts_with("failed: "));
        BOOST_TEST(!said.ends_with("remove directory"));
        BOOST_TEST(!p.c.newcomers_drain());
        BOOST_TEST(p.removed() == "gone");
    }
}

BOOST_AUTO_TEST_SUITE_END()
