// What `colock serve` makes of bytes: those of clients, and those of anybody.
#include "served.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace colock::testing;
using namespace colock::testing::test;

namespace {

struct scene {
    memory_server server{some_settings()};
    hand_client client{server};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(served_frames, scene)

BOOST_AUTO_TEST_CASE(a_session_is_begun_and_lasts_as_long_as_the_limits_say)
{
    BOOST_TEST(client.greet(1s) != 0);
    BOOST_TEST((client.granted == 4s));
    BOOST_TEST(client.password.size() == 16U);
    hand_client other{server};
    BOOST_TEST(other.greet(1h) != 0);
    BOOST_TEST((other.granted == 40s));
    BOOST_TEST(other.password != client.password);
}

BOOST_AUTO_TEST_CASE(the_shortest_sessions_leave_time_to_serve)
{
    auto settings = some_settings();
    settings.least_session = 1ms;
    memory_server hasty{settings};
    hasty.advance(1s);
    hand_client quick{hasty};
    BOOST_TEST(quick.greet(1ms) != 0);
    BOOST_TEST((quick.granted == 1ms));
}

BOOST_AUTO_TEST_CASE(a_session_is_taken_over_with_its_password_only)
{
    const auto id = client.greet();
    hand_client thief{server};
    BOOST_TEST(thief.greet(10s, id) == 0);
    BOOST_TEST(thief.port.is_over());
    hand_client again{server};
    BOOST_TEST(again.greet(10s, id, client.password) == id);
    BOOST_TEST(client.port.is_over());
}

BOOST_AUTO_TEST_CASE(an_expired_session_is_told_and_its_nodes_are_gone)
{
    const auto id = client.greet(4s);
    client.create(1, "/mine", 1);
    BOOST_TEST(client.only_answer().error == 0);
    server.advance(7s);
    BOOST_TEST(client.port.is_over());
    hand_client other{server};
    BOOST_TEST(other.greet(10s, id, client.password) == 0);
    hand_client looks{server};
    looks.greet();
    looks.about(1, type::exists, "/mine");
    BOOST_TEST(looks.only_answer().error == -101);
}

// It may be in the midst of a handshake of TLS.
BOOST_AUTO_TEST_CASE(a_client_that_asks_for_no_session_is_not_kept)
{
    server.advance(9s);
    BOOST_TEST(!client.port.is_over());
    server.advance(21s);
    BOOST_TEST(client.port.is_over());
}

BOOST_AUTO_TEST_CASE(pings_keep_a_session_alive)
{
    client.greet(4s);
    for (auto at = 1s; at <= 20s; at += 1s) {
        server.advance(at);
        client.ask(-2, type::ping);
        BOOST_TEST(client.only_answer().number == -2);
    }
    BOOST_TEST(!client.port.is_over());
}

BOOST_AUTO_TEST_CASE(a_later_server_has_other_sessions_and_higher_transactions)
{
    const auto id = client.greet();
    client.create(1, "/a");
    const auto before = client.only_answer().transaction;
    auto settings = some_settings(1'800'000'000s + 1ms);
    settings.secret = "somebody else";
    memory_server later{settings};
    hand_client stale{later};
    BOOST_TEST(stale.greet(10s, id, client.password) == 0);
    hand_client fresh{later};
    BOOST_TEST(fresh.greet() > id);
    fresh.create(1, "/a");
    BOOST_TEST(fresh.only_answer().transaction > before);
}

BOOST_AUTO_TEST_CASE(a_transaction_says_of_each_step_what_it_came_to)
{
    client.greet();
    const auto steps = [](std::string_view missing) {
        return [missing](jute_writer& out) {
            out.integer(type::create2).boolean(false).integer(-1);
            out.text("/a").text("x").count(1).integer(31).text("world").text("anyone").integer(0);
            out.integer(type::check).boolean(false).integer(-1).text(missing).integer(-1);
            out.integer(-1).boolean(true).integer(-1);
        };
    };
    client.ask(1, type::multi, steps("/none"));
    const auto refused = client.only_answer();
    BOOST_TEST(refused.error == 0);
    jute_reader in{refused.body};
    BOOST_TEST(in.integer() == -1);
    BOOST_TEST(!in.boolean());
    BOOST_TEST(in.integer() == 0); // undone as well
    BOOST_TEST(in.integer() == 0);
    BOOST_TEST(in.integer() == -1);
    BOOST_TEST(!in.boolean());
    BOOST_TEST(in.integer() == -101);
    BOOST_TEST(in.integer() == -101);

    client.ask(2, type::multi, steps("/"));
    const auto done = client.only_answer();
    jute_reader of{done.body};
    BOOST_TEST(of.integer() == type::create2);
    of.boolean();
    BOOST_TEST(of.integer() == 0);
    BOOST_TEST(of.text() == "/a");
}

// As ZooKeeper's server and its client in Java have it: "CreateResult", which is of one of two types.
BOOST_AUTO_TEST_CASE(a_transaction_says_of_what_it_created_as_much_as_was_asked)
{
    client.greet();
    client.ask(1, type::multi, [](jute_writer& out) {
        const auto step = [&out](std::int32_t type, std::string_view path, std::int32_t mode) {
            out.integer(type).boolean(false).integer(-1).text(path).text("x").count(1);
            out.integer(31).text("world").text("anyone").integer(mode);
        };
        step(type::create, "/a", 0);
        step(type::create2, "/b", 0);
        step(type::create_container, "/c", 4);
        step(type::create_ttl, "/d", 5);
        out.longer(1000).integer(-1).boolean(true).integer(-1);
    });
    const auto done = client.only_answer();
    BOOST_TEST(done.error == 0);
    jute_reader in{done.body};
    for (const auto* path : {"/a", "/b", "/c", "/d"}) {
        const bool is_short = path == std::string_view{"/a"};
        BOOST_TEST(in.integer() == (is_short ? type::create : type::create2));
        BOOST_TEST(!in.boolean());
        BOOST_TEST(in.integer() == 0);
        BOOST_TEST(in.text() == path);
        if (!is_short) {
            BOOST_TEST(in.longer() == done.transaction); // which created it
            for (int more = 60; more != 0; more -= 4) {
                in.integer();
            }
        }
    }
    BOOST_TEST(in.integer() == -1);
    BOOST_TEST(in.boolean());
    in.integer();
    BOOST_TEST((in.is_good() && in.left() == 0));
}

BOOST_AUTO_TEST_CASE(a_time_to_live_has_its_limits_in_a_transaction_too)
{
    client.greet();
    const auto outcome = [this](std::int64_t ttl) {
        client.ask(1, type::multi, [ttl](jute_writer& out) {
            out.integer(type::create_ttl).boolean(false).integer(-1).text("/a").text("").count(1);
            out.integer(31).text("world").text("anyone").integer(5).longer(ttl);
            out.integer(-1).boolean(true).integer(-1);
        });
        const auto said = client.only_answer();
        jute_reader in{said.body};
        in.integer();
        in.boolean();
        return in.integer();
    };
    BOOST_TEST(outcome(0) == -8);
    BOOST_TEST(outcome(std::int64_t{1} << 40) == -8);
    BOOST_TEST(outcome((std::int64_t{1} << 40) - 1) == 0);
}

BOOST_AUTO_TEST_CASE(an_address_may_be_that_of_many)
{
    hand_client near{server, "10.1.2.3"};
    hand_client far{server, "10.2.0.1"};
    near.greet();
    far.greet();
    const auto made = [&](std::string_view path, std::string_view id) {
        near.ask(1, type::create, [&](jute_writer& out) {
            out.text(path).text("").count(1).integer(31).text("ip").text(id).integer(0);
        });
        return near.only_answer().error;
    };
    const auto seen = [](hand_client& by, std::string_view path) {
        by.about(2, type::get, path);
        return by.only_answer().error == 0;
    };
    BOOST_TEST(made("/sixteen", "10.1.0.0/16") == 0);
    BOOST_TEST((seen(near, "/sixteen") && !seen(far, "/sixteen")));
    BOOST_TEST(made("/fourteen", "10.1.9.9/14") == 0);
    BOOST_TEST((seen(near, "/fourteen") && seen(far, "/fourteen")));
    BOOST_TEST(made("/all", "0.0.0.0/0") == 0);
    BOOST_TEST((seen(near, "/all") && seen(far, "/all")));
    BOOST_TEST(made("/one", "10.1.2.3") == 0);
    BOOST_TEST((seen(near, "/one") && !seen(far, "/one")));
    for (const auto* bad : {"", "10.1.2", "10.1.2.3.4", "1.2.3.999", "1.2.3.4/99", "1.2.3.4/",
                            "1.2.3.4/8/8", "1..2.3", "1.2.3.4.", "::1"}) {
        BOOST_TEST(made("/none", bad) == -114, bad);
    }
}

BOOST_AUTO_TEST_CASE(watches_that_stay_hear_of_everything_below)
{
    hand_client watcher{server};
    watcher.greet();
    watcher.ask(1, type::add_watch, [](jute_writer& out) { out.text("/").integer(1); });
    BOOST_TEST(watcher.only_answer().error == 0);
    client.greet();
    for (const auto* path : {"/a", "/a/b", "/a/b/c"}) {
        client.create(1, path);
    }
    const auto made = client.answers();
    const auto heard = watcher.answers();
    BOOST_REQUIRE((heard.size() == 3U && made.size() == 3U));
    for (std::size_t i = 0; i != 3; ++i) {
        BOOST_TEST(heard[i].number == -1);
        BOOST_TEST(heard[i].transaction == made[i].transaction);
    }
    jute_reader in{heard.back().body};
    BOOST_TEST(in.integer() == 1); // created
    BOOST_TEST(in.integer() == 3);
    BOOST_TEST(in.text() == "/a/b/c");
    watcher.ask(2, type::remove_watches, [](jute_writer& out) { out.text("/").integer(5); });
    BOOST_TEST(watcher.only_answer().error == 0);
    client.create(1, "/b");
    BOOST_TEST(watcher.answers().empty());
}

BOOST_AUTO_TEST_CASE(a_watch_that_is_set_again_hears_of_what_it_has_missed)
{
    client.greet();
    client.create(1, "/a");
    const auto seen = client.only_answer().transaction;
    client.create(2, "/a/b");
    client.answers();
    hand_client again{server};
    again.greet();
    again.ask(-8, type::set_watches2, [&](jute_writer& out) {
        out.longer(seen).count(1).text("/gone").count(1).text("/a").count(1).text("/a");
        out.count(0).count(0);
    });
    const auto heard = again.answers();
    BOOST_REQUIRE(heard.size() == 4U);
    std::vector<std::int32_t> types;
    for (std::size_t i = 0; i != 3; ++i) {
        BOOST_TEST(heard[i].number == -1);
        BOOST_TEST(heard[i].transaction == -1);
        types.push_back(jute_reader{heard[i].body}.integer());
    }
    BOOST_TEST((types == std::vector<std::int32_t>{2, 1, 4}));
    BOOST_TEST(heard[3].number == -8);
}

BOOST_AUTO_TEST_CASE(what_no_server_knows_is_refused_and_the_session_goes_on)
{
    client.greet();
    for (const std::int32_t unheard_of : {16, 20, 22, 102, 4711, -10}) {
        client.ask(1, unheard_of);
        BOOST_TEST(client.only_answer().error == -6);
    }
    client.create(2, "/a", 99);
    BOOST_TEST(client.only_answer().error == -8);
    client.about(3, type::exists, "/");
    BOOST_TEST(client.only_answer().error == 0);
}

BOOST_AUTO_TEST_CASE(bytes_may_come_one_by_one)
{
    std::string bytes;
    jute_writer{bytes}.integer(0).longer(0).integer(9000).longer(0).text(std::string(16, '\0'));
    for (const auto c : framed(bytes)) {
        client.port.receive({&c, 1});
    }
    BOOST_TEST(client.frames().size() == 1U);
    BOOST_TEST(!client.port.is_over());
}

BOOST_AUTO_TEST_CASE(nonsense_ends_the_connection_and_nothing_else)
{
    client.greet();
    client.create(1, "/kept", 1);
    client.answers();
    const std::vector<std::string> first{
        std::string(4, '\0'),     std::string(4, '\xff'),
        "GET / HTTP/1.1\r\n\r\n", std::string{"\x7f\xff\xff\xff", 4},
        framed("short"),          framed(std::string(44, '\xff'))};
    for (const auto& bytes : first) {
        hand_client stranger{server};
        stranger.port.receive(bytes);
        BOOST_TEST(stranger.port.is_over());
    }
    const auto body = [](std::initializer_list<std::int32_t> numbers) {
        std::string bytes;
        for (const auto n : numbers) {
            jute_writer{bytes}.integer(n);
        }
        return bytes;
    };
    // A path that is longer than the frame; lists of 2^31 - 1, and of fewer than none; steps without an end.
    for (const auto& bytes :
         {body({1}), body({1, type::get, 1 << 20}), body({1, type::get, -7}),
          body({1, type::create, 0, 0, 0x7fffffff}), body({1, type::set_watches, 0, 0, -2}),
          body({1, type::multi, type::create}), body({1, type::multi, 4711, 0, 0}),
          body({1, type::remove_watches, 0, 9})}) {
        hand_client stranger{server};
        BOOST_TEST(stranger.greet() != 0);
        stranger.port.receive(framed(bytes));
        BOOST_TEST(stranger.port.is_over());
    }
    client.about(2, type::exists, "/kept");
    BOOST_TEST(client.only_answer().error == 0);
}

BOOST_AUTO_TEST_CASE(whoever_does_not_read_is_not_heard)
{
    auto settings = some_settings();
    settings.limits.unread = 10'000;
    settings.limits.most_unread = 40'000;
    memory_server small{settings};
    hand_client deaf{small};
    deaf.greet();
    deaf.create(1, "/a", 0, std::string(4'000, 'x'));
    deaf.answers();
    std::string many;
    for (std::int32_t i = 0; i != 100; ++i) {
        std::string bytes;
        jute_writer{bytes}.integer(i).integer(type::get).text("/a").boolean(false);
        many += framed(bytes);
    }
    deaf.port.receive(many);
    BOOST_TEST(deaf.port.is_held());
    BOOST_TEST(deaf.port.out().size() < 20'000U);
    std::size_t answered = 0;
    for (int i = 0; i != 100 && answered != 100; ++i) {
        answered += deaf.answers().size();
        deaf.port.work();
    }
    BOOST_TEST(answered == 100U);
}

BOOST_AUTO_TEST_CASE(a_client_that_lets_events_pile_up_is_closed)
{
    auto settings = some_settings();
    settings.limits.unread = 1'000;
    settings.limits.most_unread = 4'000;
    memory_server small{settings};
    hand_client deaf{small};
    deaf.greet();
    deaf.ask(1, type::add_watch, [](jute_writer& out) { out.text("/").integer(1); });
    hand_client loud{small};
    loud.greet();
    for (std::int32_t i = 0; i != 200; ++i) {
        loud.create(i, "/n-", 2);
        loud.answers();
    }
    BOOST_TEST(deaf.port.is_over());
    BOOST_TEST(!loud.port.is_over());
}

BOOST_AUTO_TEST_CASE(what_is_kept_is_bounded)
{
    auto settings = some_settings();
    settings.limits.nodes = 10;
    settings.limits.bytes = 2'000;
    settings.limits.sessions = 2;
    settings.limits.connections = 4;
    memory_server small{settings};
    hand_client greedy{small};
    greedy.greet();
    for (std::int32_t i = 0; i != 20; ++i) {
        greedy.create(i, "/n" + std::to_string(i));
    }
    const auto all = greedy.answers();
    BOOST_TEST(std::ranges::count(all, 0, &answer::error) ==
               6); // four are there from the beginning
    BOOST_TEST(all.back().error == -125);
    greedy.ask(20, type::set,
               [](jute_writer& out) { out.text("/n0").text(std::string(3'000, 'x')).integer(-1); });
    BOOST_TEST(greedy.only_answer().error == -125);
    hand_client second{small};
    BOOST_TEST(second.greet() != 0);
    hand_client third{small};
    BOOST_TEST(third.greet() == 0);
    BOOST_TEST(third.port.is_over());
    hand_client fourth{small};
    hand_client fifth{small};
    BOOST_TEST(fifth.port.is_over());
}

BOOST_AUTO_TEST_CASE(access_lists_take_room)
{
    auto settings = some_settings();
    settings.limits.bytes = 2'000;
    memory_server small{settings};
    hand_client greedy{small};
    greedy.greet();
    const auto before = small.nodes().bytes();
    const auto list = [](jute_writer& out, std::size_t name) {
        out.count(1).integer(31).text("digest").text(std::string(name, 'x') + ":y");
    };
    const auto made = [&](std::size_t name) {
        greedy.ask(1, type::create, [&](jute_writer& out) {
            out.text("/a").text("");
            list(out, name);
            out.integer(0);
        });
        return greedy.only_answer().error;
    };
    const auto changed = [&](std::size_t name) {
        greedy.ask(2, type::set_acl, [&](jute_writer& out) {
            out.text("/b");
            list(out, name);
            out.integer(-1);
        });
        return greedy.only_answer().error;
    };
    BOOST_TEST(made(3'000) == -125);
    BOOST_TEST(made(1'000) == 0);
    BOOST_TEST(made(0) == -110); // it is there
    greedy.create(3, "/b");
    BOOST_TEST(greedy.only_answer().error == 0);
    BOOST_TEST(changed(1'000) == -125);
    BOOST_TEST(changed(500) == 0);
    for (const auto* path : {"/a", "/b"}) {
        greedy.ask(4, type::remove, [&](jute_writer& out) { out.text(path).integer(-1); });
        BOOST_TEST(greedy.only_answer().error == 0);
    }
    BOOST_TEST(small.nodes().bytes() == before);
}

BOOST_AUTO_TEST_CASE(paths_of_watches_and_identities_are_bounded)
{
    auto settings = some_settings();
    settings.limits.watched = 10'000;
    settings.limits.proofs = 1'000;
    memory_server small{settings};
    hand_client watcher{small}, other{small};
    watcher.greet();
    other.greet();
    const auto look = [](hand_client& c, std::int32_t number, bool watch) {
        const auto path = "/" + std::string(6'000, static_cast<char>('a' + number));
        c.ask(number, type::exists, [&](jute_writer& out) { out.text(path).boolean(watch); });
    };
    look(watcher, 0, true);
    look(watcher, 1, true);
    look(other, 0, false); // who sets none is not to blame
    BOOST_TEST(other.answers().size() == 1U);
    look(watcher, 2, true);
    BOOST_TEST(watcher.port.is_over());
    BOOST_TEST(watcher.answers().size() == 2U);
    BOOST_TEST(!other.port.is_over());

    hand_client many{small};
    many.greet();
    std::size_t proved = 0;
    for (char name = 'a'; name <= 'z' && !many.port.is_over(); ++name) {
        many.ask(-4, type::auth, [name](jute_writer& out) {
            out.integer(0).text("digest").text(std::string(90, name) + ":secret");
        });
        proved += many.answers().size();
    }
    BOOST_TEST(many.port.is_over());
    BOOST_TEST(proved == 8U);
}

BOOST_AUTO_TEST_CASE(operators_are_answered)
{
    client.greet();
    client.create(1, "/mine", 1);
    const auto said = [&](std::string_view word) {
        hand_client o{server};
        o.port.receive(word);
        BOOST_TEST(o.port.is_over());
        return o.port.out();
    };
    BOOST_TEST(said("ruok") == "imok");
    BOOST_TEST(said("srvr\n").starts_with("Zookeeper version: 3.9.3-colock-serve"));
    BOOST_TEST(said("srvr").find("\nMode: standalone\n") != std::string::npos);
    BOOST_TEST(said("cons").find(" /127.0.0.1:1234[1](") != std::string::npos);
    BOOST_TEST(said("dump").find("\n\t/mine\n") != std::string::npos);
    BOOST_TEST(said("conf").find("tickTime=2000\n") != std::string::npos);
    BOOST_TEST(said("crst").find("not in the whitelist") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_closed_session_is_confirmed_and_its_nodes_go)
{
    client.greet();
    client.create(1, "/mine", 1);
    client.answers();
    client.ask(7, type::close);
    BOOST_TEST(client.only_answer().number == 7);
    BOOST_TEST(client.port.is_over());
    BOOST_TEST(server.nodes().find("/mine") == nullptr);
}

BOOST_AUTO_TEST_CASE(identities_are_proved_and_told)
{
    client.greet();
    client.ask(-4, type::auth,
               [](jute_writer& out) { out.integer(0).text("digest").text("me:secret"); });
    BOOST_TEST(client.only_answer().number == -4);
    client.ask(1, type::who_am_i);
    const auto told = client.only_answer();
    jute_reader in{told.body};
    BOOST_REQUIRE(in.count(8) == 2U);
    BOOST_TEST(in.text() == "ip");
    BOOST_TEST(in.text() == "127.0.0.1");
    BOOST_TEST(in.text() == "digest");
    BOOST_TEST(in.text() == "me");
    // ZooKeeper's clients number it -4, others as they number any request.
    client.ask(2, type::auth,
               [](jute_writer& out) { out.integer(0).text("digest").text("you:secret"); });
    BOOST_TEST(client.only_answer().number == 2);
    client.ask(-4, type::auth,
               [](jute_writer& out) { out.integer(0).text("unheard of").text(""); });
    BOOST_TEST(client.only_answer().error == -115);
    BOOST_TEST(client.port.is_over());
}

BOOST_AUTO_TEST_SUITE_END()
