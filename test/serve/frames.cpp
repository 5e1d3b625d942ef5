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

BOOST_AUTO_TEST_CASE(an_event_is_no_answer_to_a_silent_client)
{
    client.greet();
    hand_client silent{server};
    silent.greet();
    silent.ask(1, type::add_watch, [](jute_writer& out) { out.text("/").integer(1); });
    BOOST_TEST(silent.only_answer().error == 0);
    const auto answered = silent.port.counted().last_answer;
    server.advance(3s);
    client.create(1, "/x");
    BOOST_TEST(silent.answers().size() == 1U);
    BOOST_TEST(silent.port.counted().last_answer.count() == answered.count());
    BOOST_TEST((client.port.counted().last_answer >= answered + 3s));
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

// Without the event, Curator's recipes wait without an end.
BOOST_AUTO_TEST_CASE(a_watch_that_is_set_again_hears_of_what_it_may_not_read)
{
    client.greet();
    client.create(1, "/a");
    const auto seen = client.only_answer().transaction;
    client.ask(-4, type::auth,
               [](jute_writer& out) { out.integer(0).text("digest").text("me:secret"); });
    client.ask(2, type::create, [](jute_writer& out) {
        out.text("/mine").text("").count(1).integer(31).text("auth").text("").integer(0);
    });
    client.answers();
    hand_client again{server};
    again.greet();
    again.about(1, type::get, "/mine");
    BOOST_TEST(again.only_answer().error == -102);
    again.ask(-8, type::set_watches, [&](jute_writer& out) {
        out.longer(seen).count(1).text("/mine").count(1).text("/mine").count(1).text("/mine");
    });
    BOOST_TEST(again.answers().size() == 4U);
}

BOOST_AUTO_TEST_CASE(a_name_has_the_characters_that_java_allows)
{
    client.greet();
    const auto made = [&](std::string_view path) {
        client.create(1, path);
        return client.only_answer().error;
    };
    for (const auto* path : {"/a b", "/\u00e4", "/\u20ac", "/\uff0f"}) {
        BOOST_TEST(made(path) == 0);
    }
    for (const auto* path : {"/a\x1f", "/a\x7f", "/a\u0085", "/a\ue000", "/a\ufff0", "/a\U0001f512",
                             "/a\x9b", "/a\xc3", "/a\xc0\xaf", "/a\xed\xa0\x80"}) {
        BOOST_TEST(made(path) == -8);
    }
}

// They are removed one after the other: that may take longer than the time to the next look.
BOOST_AUTO_TEST_CASE(what_is_made_anew_is_not_removed_for_what_was_there_before)
{
    auto settings = some_settings();
    settings.container_check = 60ms;
    memory_server busy{settings};
    hand_client c{busy};
    c.greet();
    const auto make_all = [&](std::chrono::milliseconds ttl) {
        for (std::int32_t i = 0; i != 25; ++i) {
            c.ask(i, type::create_ttl, [&](jute_writer& out) {
                out.text("/n" + std::to_string(i))
                    .text("")
                    .count(1)
                    .integer(31)
                    .text("world")
                    .text("anyone");
                out.integer(5).longer(ttl.count());
            });
            BOOST_TEST(c.only_answer().error == 0);
        }
    };
    const auto count = [&] { return busy.nodes().size(); };
    const auto before = count();
    make_all(1ms);
    auto now = 0ms;
    while (count() != before && now != 5s) {
        busy.advance(now += 1ms);
    }
    BOOST_TEST(count() == before);
    make_all(1h);
    busy.advance(now + 2s);
    BOOST_TEST(count() == before + 25);
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
    server.pause();
    hand_client early{server};
    early.port.receive("ruok");
    BOOST_TEST(early.port.out() == "");
    server.resume();
    BOOST_TEST(early.port.out() == "imok");
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
