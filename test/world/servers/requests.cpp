// What the simulated servers answer, and in which order. world_conversation compares them with real ones.
#include "hand_client.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <limits>

using namespace world;
using namespace world::test;
using colock::create_mode;
using colock::watch_event_type;
using colock::zookeeper_errc;

namespace {

struct one_client {
    scene s;
    hand_client c{s};

    explicit one_client(ensemble_options options = {}) : s{std::move(options)}
    {
        BOOST_REQUIRE(s.wait_for_service());
        BOOST_REQUIRE(c.open(s.follower()));
    }

    status remove(std::string path, std::int32_t version = colock::any_version)
    {
        return c.call({.op = opcode::remove, .path = std::move(path), .version = version}).error;
    }
    response set(std::string path, std::string data, std::int32_t version = colock::any_version)
    {
        return c.call({.op = opcode::set,
                       .path = std::move(path),
                       .data = std::move(data),
                       .version = version});
    }
    std::vector<std::string> list(std::string path)
    {
        auto names = c.call({.op = opcode::children, .path = std::move(path)}).names;
        std::ranges::sort(names);
        return names;
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(requests)

BOOST_AUTO_TEST_CASE(nodes_have_the_metadata_of_what_was_done_to_them)
{
    one_client t;
    auto& c = t.c;
    const auto made = c.create("/a", create_mode::persistent, "one");
    BOOST_TEST(made.text == "/a");
    BOOST_TEST(made.stat.czxid == made.stat.mzxid);
    BOOST_TEST(made.stat.data_length == 3);
    const auto child = c.create("/a/b", create_mode::ephemeral);
    BOOST_TEST(child.stat.ephemeral_owner == c.session.id);
    const auto set = t.set("/a", "two", 0);
    BOOST_TEST(set.stat.version == 1);
    BOOST_TEST(set.stat.mzxid == child.stat.czxid + 1);
    BOOST_TEST(set.stat.pzxid == child.stat.czxid);
    BOOST_TEST(set.stat.cversion == 1);
    BOOST_TEST(set.stat.num_children == 1);
    BOOST_TEST(!t.remove("/a/b"));
    const auto got = c.call({.op = opcode::get, .path = "/a"});
    BOOST_TEST(got.text == "two");
    BOOST_TEST(got.stat.cversion == 2);
    BOOST_TEST(got.stat.pzxid == set.stat.mzxid + 1);
    BOOST_TEST((c.exists("/").stat.cversion == 0)); // /zookeeper was there before, /a was created
}

BOOST_AUTO_TEST_CASE(what_is_refused)
{
    one_client t;
    auto& c = t.c;
    BOOST_TEST((c.create("/a/b").error == zookeeper_errc::no_node));
    BOOST_TEST((c.create("/").error == zookeeper_errc::node_exists));
    BOOST_TEST(!c.create("/e", create_mode::ephemeral).error);
    BOOST_TEST((c.create("/e/x").error == zookeeper_errc::no_children_for_ephemerals));
    BOOST_TEST(!c.create("/a").error);
    BOOST_TEST(!c.create("/a/b").error);
    BOOST_TEST((c.create("/a").error == zookeeper_errc::node_exists));
    BOOST_TEST((t.remove("/a") == zookeeper_errc::not_empty));
    BOOST_TEST((t.remove("/a", 7) == zookeeper_errc::bad_version));
    BOOST_TEST((t.remove("/zookeeper") == zookeeper_errc::bad_arguments));
    BOOST_TEST((t.remove("/no") == zookeeper_errc::no_node));
    BOOST_TEST((t.set("/a", "", 3).error == zookeeper_errc::bad_version));
    BOOST_TEST((t.set("/no", "").error == zookeeper_errc::no_node));
    BOOST_TEST((c.call({.op = opcode::create, .path = "/x"}).error == zookeeper_errc::invalid_acl));
    BOOST_TEST((c.call({.op = opcode::create, .path = "/x", .acl = colock::creator_acl()}).error ==
                zookeeper_errc::invalid_acl));
    BOOST_TEST((c.call({.op = opcode::get, .path = "/no"}).error == zookeeper_errc::no_node));
    BOOST_TEST((c.call({.op = opcode::children, .path = "/no"}).error == zookeeper_errc::no_node));
}

BOOST_AUTO_TEST_CASE(numbers_follow_each_other_up_to_their_end)
{
    one_client t;
    auto& c = t.c;
    BOOST_TEST(!c.create("/d").error);
    BOOST_TEST(c.create("/d/n-", create_mode::persistent_sequential).text == "/d/n-0000000000");
    BOOST_TEST(!c.create("/d/other").error); // counts, too
    BOOST_TEST(c.create("/d/n-", create_mode::ephemeral_sequential).text == "/d/n-0000000002");
    t.s.time.run_until(t.s.time.now() + 1s);
    t.s.servers.set_counter("/d", std::numeric_limits<std::int32_t>::max() - 1);
    BOOST_TEST(c.create("/d/n-", create_mode::persistent_sequential).text == "/d/n-2147483646");
    BOOST_TEST(c.create("/d/n-", create_mode::persistent_sequential).text == "/d/n-2147483647");
    // The counter of the tree stands still; what is being decided counts on, below zero.
    BOOST_TEST((c.create("/d/n-", create_mode::persistent_sequential).error ==
                zookeeper_errc::node_exists));
    const operation create{.op = opcode::create,
                           .path = "/d/m-",
                           .mode = create_mode::persistent_sequential,
                           .acl = colock::open_acl()};
    const auto first = c.send(create), second = c.send(create);
    BOOST_TEST(c.answer(first).text == "/d/m-2147483647");
    BOOST_TEST(c.answer(second).text == "/d/m--2147483648");
}

BOOST_AUTO_TEST_CASE(a_transaction_happens_as_a_whole)
{
    one_client t;
    auto& c = t.c;
    BOOST_TEST(!c.create("/a").error);
    const auto done = c.call({.op = opcode::multi,
                              .acl = colock::open_acl(),
                              .ops = {colock::create_op("/a/x"), colock::set_op("/a", "1"),
                                      colock::remove_op("/a/x"), colock::check_op("/a")}});
    BOOST_TEST(!done.error);
    BOOST_REQUIRE(done.results.size() == 4u);
    BOOST_TEST(done.results[0].path == "/a/x");
    BOOST_TEST(done.results[1].stat.version == 1);
    BOOST_TEST(done.results[1].stat.num_children == 1);
    const auto failed = c.call(
        {.op = opcode::multi,
         .acl = colock::open_acl(),
         .ops = {colock::create_op("/a/y"), colock::remove_op("/no"), colock::set_op("/a", "2")}});
    BOOST_TEST((failed.error == zookeeper_errc::no_node));
    BOOST_REQUIRE(failed.results.size() == 3u);
    BOOST_TEST(!failed.results[0].error);
    BOOST_TEST((failed.results[1].error == zookeeper_errc::no_node));
    BOOST_TEST((failed.results[2].error == zookeeper_errc::runtime_inconsistency));
    BOOST_TEST((c.exists("/a/y").error == zookeeper_errc::no_node));
    // What failed leaves no trace in what is being decided.
    BOOST_TEST(c.create("/a/", create_mode::persistent_sequential).text == "/a/0000000001");
}

BOOST_AUTO_TEST_CASE(watches_fire_once_and_before_what_shows_the_change)
{
    one_client t;
    auto& c = t.c;
    hand_client other{t.s};
    BOOST_REQUIRE(other.open(*t.s.servers.leader()));
    BOOST_TEST((c.exists("/a", true).error == zookeeper_errc::no_node));
    BOOST_TEST(!c.call({.op = opcode::children, .path = "/", .watch = true}).error);
    BOOST_TEST(t.s.servers.watches() == 2u);
    BOOST_TEST(!other.create("/a").error);
    BOOST_TEST(!c.call({.op = opcode::sync, .path = "/"}).error);
    auto events = c.events();
    BOOST_REQUIRE(events.size() == 2u);
    BOOST_TEST((events[0].type == watch_event_type::created));
    BOOST_TEST((events[1].type == watch_event_type::children_changed));
    BOOST_TEST(events[1].path == "/");
    BOOST_TEST(t.s.servers.watches() == 0u);
    // The event of the own write comes before its answer.
    BOOST_TEST(!c.call({.op = opcode::get, .path = "/a", .watch = true}).error);
    BOOST_TEST(!c.call({.op = opcode::children, .path = "/a", .watch = true}).error);
    const auto heard = c.heard.size();
    BOOST_TEST(!t.remove("/a"));
    BOOST_TEST(std::holds_alternative<event>(c.heard[heard]));
    BOOST_TEST(std::holds_alternative<reply>(c.heard[heard + 1]));
    BOOST_TEST(c.heard.size() == heard + 2); // told once of what it watches twice
}

BOOST_AUTO_TEST_CASE(watches_can_be_taken_back_and_end_with_the_connection)
{
    one_client t;
    auto& c = t.c;
    BOOST_TEST(!c.create("/a").error);
    BOOST_TEST(!c.call({.op = opcode::get, .path = "/a", .watch = true}).error);
    BOOST_TEST(!c.call({.op = opcode::forget_watches, .path = "/a"}).error);
    BOOST_TEST(
        (c.call({.op = opcode::forget_watches, .path = "/a"}).error == zookeeper_errc::no_watcher));
    BOOST_TEST(t.s.servers.watches() == 0u);
    BOOST_TEST(!c.call({.op = opcode::children, .path = "/a", .watch = true}).error);
    BOOST_TEST(t.s.servers.watches() == 1u);
    c.hang_up();
    BOOST_TEST(t.s.wait(1s, [&] { return t.s.servers.watches() == 0; }));
}

BOOST_AUTO_TEST_CASE(a_sync_waits_for_what_is_being_decided)
{
    one_client t;
    hand_client at_leader{t.s}, reader{t.s};
    BOOST_REQUIRE(at_leader.open(*t.s.servers.leader()));
    BOOST_REQUIRE(reader.open(t.s.follower(1)));
    for (int i = 0; i != 200; ++i) {
        for (int n = 0; n != 5; ++n) {
            at_leader.send({.op = opcode::create,
                            .path = "/a",
                            .mode = create_mode::persistent_sequential,
                            .acl = colock::open_acl()});
        }
        t.s.time.run_until(t.s.time.now() + std::chrono::microseconds{i * 10});
        t.c.send({.op = opcode::sync, .path = "/"});
        reader.send({.op = opcode::sync, .path = "/"});
        const auto decided = t.s.servers.decided().size();
        BOOST_TEST(t.c.call({.op = opcode::children, .path = "/"}).names.size() + 3 >= decided);
        BOOST_TEST(reader.call({.op = opcode::children, .path = "/"}).names.size() + 3 >= decided);
    }
}

BOOST_AUTO_TEST_CASE(permissions_are_checked)
{
    one_client t;
    auto& c = t.c;
    hand_client other{t.s};
    BOOST_REQUIRE(other.open(*t.s.servers.leader()));
    c.link->send(auth_request{{"digest", "me:secret"}});
    BOOST_TEST(
        !c.call({.op = opcode::create, .path = "/mine", .acl = colock::creator_acl()}).error);
    BOOST_TEST(!c.create("/mine/a").error);
    BOOST_TEST((other.call({.op = opcode::sync, .path = "/"}).error == status{}));
    BOOST_TEST((other.create("/mine/b").error == zookeeper_errc::no_auth));
    BOOST_TEST((other.call({.op = opcode::get, .path = "/mine"}).error == zookeeper_errc::no_auth));
    BOOST_TEST(
        (other.call({.op = opcode::children, .path = "/mine"}).error == zookeeper_errc::no_auth));
    BOOST_TEST(!other.exists("/mine").error);
    BOOST_TEST(
        (other.call({.op = opcode::remove, .path = "/mine/a"}).error == zookeeper_errc::no_auth));
    const operation list{.op = opcode::get_acl, .path = "/mine"};
    BOOST_TEST((other.call(list).error == zookeeper_errc::no_auth));
    other.link->send(auth_request{{"digest", "me:secret"}});
    BOOST_TEST(!other.create("/mine/b").error);
    BOOST_TEST(other.call(list).acl.at(0).id == digest_of("me:secret"));
    operation to_all{.op = opcode::set_acl, .path = "/mine", .version = 1};
    to_all.acl = {{colock::permission_all, "auth", ""},
                  {colock::permission_read, "world", "anyone"}};
    BOOST_TEST((other.call(to_all).error == zookeeper_errc::bad_version));
    to_all.version = 0;
    BOOST_TEST(!other.call(to_all).error);
    hand_client stranger{t.s};
    BOOST_REQUIRE(stranger.open(*t.s.servers.leader()));
    BOOST_TEST(stranger.call(list).acl.at(0).id == "me:x");
    BOOST_TEST((stranger.call(to_all).error == zookeeper_errc::invalid_acl)); // of nobody
    to_all.acl = colock::open_acl();
    BOOST_TEST((stranger.call(to_all).error == zookeeper_errc::no_auth));
    other.link->send(auth_request{{"unheard of", ""}});
    BOOST_TEST(t.s.wait(1s, [&] { return other.ended; }));
    const auto* said = std::get_if<auth_reply>(&other.heard.back());
    BOOST_TEST((said != nullptr && said->error == zookeeper_errc::auth_failed));
}

BOOST_AUTO_TEST_CASE(events_go_to_those_who_may_read)
{
    one_client t;
    auto& c = t.c;
    hand_client other{t.s};
    BOOST_REQUIRE(other.open(*t.s.servers.leader()));
    BOOST_TEST((other.exists("/mine", true).error == zookeeper_errc::no_node));
    c.link->send(auth_request{{"digest", "me:secret"}});
    BOOST_TEST(!c.exists("/mine", true).stat.czxid);
    BOOST_TEST(
        !c.call({.op = opcode::create, .path = "/mine", .acl = colock::creator_acl()}).error);
    BOOST_TEST(!other.call({.op = opcode::sync, .path = "/"}).error);
    BOOST_TEST(c.events().size() == 1u);
    BOOST_TEST(other.events().empty());
    BOOST_TEST(t.s.servers.watches() == 0u); // used up all the same
}

BOOST_AUTO_TEST_CASE(a_secret_is_kept_as_its_digest)
{
    // As ZooKeeper's own DigestAuthenticationProvider prints it.
    BOOST_TEST(digest_of("super:test") == "super:D/InIHSb7yEEbrWz8b9l71RjZJU=");
}

BOOST_AUTO_TEST_CASE(empty_containers_are_removed)
{
    one_client t;
    auto& c = t.c;
    BOOST_TEST(!c.create("/new", create_mode::container).error);
    BOOST_TEST(!c.create("/used", create_mode::container).error);
    BOOST_TEST(!c.create("/used/x").error);
    BOOST_TEST(c.exists("/used").stat.ephemeral_owner == 0);
    BOOST_TEST(!t.remove("/used/x"));
    BOOST_TEST(!c.call({.op = opcode::create,
                        .path = "/ttl",
                        .mode = create_mode::persistent_with_ttl,
                        .ttl = 1s,
                        .acl = colock::open_acl()})
                    .error);
    BOOST_TEST(t.s.wait(65s, [&] {
        return t.s.servers.decided().find("/used") == nullptr &&
               t.s.servers.decided().find("/ttl") == nullptr;
    }));
    BOOST_TEST((t.s.servers.decided().find("/new") != nullptr));
}

BOOST_AUTO_TEST_CASE(an_operator_may_do_everything)
{
    one_client t;
    BOOST_TEST(!t.c.create("/a").error);
    BOOST_TEST(t.s.servers.remove_by_hand("/a"));
    BOOST_TEST(t.s.wait(1s, [&] { return t.s.servers.decided().find("/a") == nullptr; }));
}

BOOST_AUTO_TEST_CASE(a_server_that_is_too_busy_says_so)
{
    one_client t{{.throttled = 1000}};
    BOOST_TEST((t.c.create("/a").error == zookeeper_errc::throttled_op));
    BOOST_TEST((t.c.exists("/a").error == zookeeper_errc::throttled_op));
    BOOST_TEST((t.s.servers.decided().find("/a") == nullptr));
}

BOOST_AUTO_TEST_CASE(the_same_seed_makes_the_same_history)
{
    const auto history = [](std::uint64_t seed) {
        struct writer : observer {
            std::vector<std::int64_t> all;
            void committed(const transaction& t) override
            {
                all.insert(all.end(), {t.zxid, t.time, t.session});
            }
        } told;
        scene s{{}, seed};
        s.servers.observe(&told);
        BOOST_REQUIRE(s.wait_for_service());
        hand_client a{s}, b{s};
        BOOST_REQUIRE(a.open(0));
        BOOST_REQUIRE(b.open(1));
        for (int i = 0; i != 200; ++i) {
            a.send({.op = opcode::create,
                    .path = "/a",
                    .mode = create_mode::persistent_sequential,
                    .acl = colock::open_acl()});
            static_cast<void>(b.create("/b", create_mode::ephemeral_sequential));
        }
        s.servers.observe(nullptr);
        told.all.push_back(s.time.now().count());
        return told.all;
    };
    BOOST_TEST((history(5) == history(5)));
    BOOST_TEST((history(5) != history(6)));
}

BOOST_AUTO_TEST_SUITE_END()
