// What `colock serve` keeps for its clients is bounded, and so is what it does for them.
#include "served.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace colock::testing;
using namespace colock::testing::test;

BOOST_AUTO_TEST_SUITE(served_bounds)

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

// Each `auth` of a list stands for all that the client has proved to be.
BOOST_AUTO_TEST_CASE(the_entries_of_a_list_are_bounded)
{
    memory_server server{some_settings()};
    hand_client client{server};
    client.greet();
    for (char name = 'a'; name != 'u'; ++name) {
        client.ask(-4, type::auth, [name](jute_writer& out) {
            out.integer(0).text("digest").text(std::string(1, name) + ":secret");
        });
        BOOST_TEST(client.only_answer().error == 0);
    }
    const auto made = [&](std::string_view path, std::int32_t entries) {
        client.ask(1, type::create, [&](jute_writer& out) {
            out.text(path).text("").count(static_cast<std::size_t>(entries));
            for (std::int32_t i = 0; i != entries; ++i) {
                out.integer(i << 5 | 31).text("auth").text("");
            }
            out.integer(0);
        });
        return client.only_answer().error;
    };
    BOOST_TEST(made("/a", 50) == 0);
    BOOST_TEST(made("/b", 51) == -114);
    BOOST_TEST(made("/b", 20'000) == -114);
}

BOOST_AUTO_TEST_CASE(a_transaction_takes_room_as_a_whole)
{
    auto settings = some_settings();
    settings.limits.bytes = 4'000;
    memory_server small{settings};
    hand_client greedy{small};
    greedy.greet();
    const auto both_made = [&](std::size_t size) {
        greedy.ask(1, type::multi, [&](jute_writer& out) {
            for (const auto* path : {"/a", "/b"}) {
                out.integer(type::create).boolean(false).integer(-1);
                out.text(path)
                    .text(std::string(size, 'x'))
                    .count(1)
                    .integer(31)
                    .text("world")
                    .text("anyone")
                    .integer(0);
            }
            out.integer(-1).boolean(true).integer(-1);
        });
        greedy.answers();
        return small.nodes().find("/a") != nullptr && small.nodes().find("/b") != nullptr;
    };
    BOOST_TEST(!both_made(2'500));
    BOOST_TEST(both_made(1'000));
}

BOOST_AUTO_TEST_SUITE_END()
