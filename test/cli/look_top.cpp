// `colock top`: what a user sees, and that the terminal is as it was.
#include <support/pseudo_terminal.hpp>
#include <support/tcp_proxy.hpp>

#include "json_events.hpp"
#include "look_scene.hpp"

#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>

namespace colock::test::look_top_test {

namespace {

struct top_scene : look_scene {
    static std::vector<std::string> top(std::vector<std::string> arguments)
    {
        arguments.insert(arguments.begin(), {"top", "--interval", "50ms"});
        return words(std::move(arguments));
    }

    static void check_restored(pseudo_terminal& t)
    {
        BOOST_TEST(t.output().ends_with("\x1b[?7h\x1b[?25h\x1b[?1049l"));
        BOOST_TEST(t.is_in_line_mode());
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(look_top, top_scene)

BOOST_AUTO_TEST_CASE(it_draws_until_q)
{
    const auto path = fresh_path();
    const holder_process holder{"mutex", {path}};
    pseudo_terminal t{top({root}), environment()};
    BOOST_TEST(t.wait_for("(look_holder)"), t.output());
    BOOST_TEST(!t.is_in_line_mode());
    BOOST_TEST(has(t.output(), "\x1b[?7l")); // a line ends at the edge
    BOOST_TEST(has(t.screen(), "connected"), t.screen());
    const auto waiting = enter(path, contender_name());
    BOOST_TEST(wait_until([&] { return has(t.screen(), " 1  "); }, long_enough), t.screen());
    admin.remove(first_node(path));
    BOOST_TEST(t.wait_for("elsewhere:7 (worker)"), t.screen());
    t.send("q");
    const auto ended = t.wait_for_exit();
    BOOST_TEST((ended && ended->code == 0));
    check_restored(t);
}

BOOST_AUTO_TEST_CASE(it_counts_how_often_a_lock_changes_hands)
{
    const auto path = fresh_path();
    admin.create(path);
    enter(path, contender_name());
    pseudo_terminal t{top({path}), environment()};
    BOOST_TEST(t.wait_for("elsewhere:7"), t.output());
    for (int i = 0; i != 20; ++i) {
        enter(path, contender_name());
        admin.remove(first_node(path));
    }
    // Twenty within some seconds are many a minute.
    BOOST_TEST(wait_until(
                   [&] {
                       const auto seen = t.screen();
                       for (const auto* none : {"  -  ", "  0.0  "}) {
                           if (has(seen, none)) {
                               return false;
                           }
                       }
                       return has(seen, "elsewhere:7");
                   },
                   long_enough),
               t.screen());
    t.send("q");
    BOOST_TEST(t.wait_for_exit().has_value());
}

// Without a terminal it goes on, too: a line for each look.
BOOST_AUTO_TEST_CASE(machines_get_an_object_for_each_look)
{
    const auto path = fresh_path();
    admin.create(path);
    colock_process top{look_server().connect_string(),
                       {"top", "--json", "--interval", "50ms", path, path}};
    const auto last = [&] {
        auto text = top.out();
        text.resize(text.rfind('\n') + 1); // the next one is being written
        const auto all = events_in(text);
        return all.empty() ? "" : boost::json::serialize(all.back());
    };
    BOOST_TEST(wait_until([&] { return has(last(), "\"holding\":0"); }, long_enough), last());
    enter(path, contender_name());
    BOOST_TEST(wait_until([&] { return has(last(), "\"holding\":1"); }, long_enough), last());
    BOOST_TEST(has(last(), "\"time\":\"20"));
    BOOST_TEST(has(last(), "\"program\":\"worker\""));
    BOOST_TEST(last().find("\"holding\"") == last().rfind("\"holding\"")); // once
    top.process().send_signal(SIGTERM);
    BOOST_TEST(top.status() == 128 + SIGTERM);
}

BOOST_AUTO_TEST_CASE(machines_are_told_that_there_is_no_connection)
{
    tcp_proxy proxy{look_server().connect_string()};
    const auto held = proxy.on_request({opcode::sync}, reaction::hold);
    colock_process top{proxy.connect_string(),
                       {"top", "--json", "--interval", "50ms", root},
                       {"COLOCK_TICK=100ms", "COLOCK_AUTH="}};
    BOOST_TEST(held.wait(long_enough));
    proxy.refuse(true, refusal::close_at_once);
    proxy.cut();
    const auto last = [&] { // of whole lines
        const auto text = top.out();
        const auto lines = lines_of(text.substr(0, text.rfind('\n') + 1));
        return lines.empty() ? "" : lines.back();
    };
    BOOST_TEST(wait_until([&] { return has(last(), "\"fault\":\"there is no"); }, long_enough));
    proxy.refuse(false);
    BOOST_TEST(wait_until([&] { return has(last(), "\"locks\":["); }, long_enough), last());
    top.process().send_signal(SIGTERM);
    BOOST_TEST(top.status() == 128 + SIGTERM);
}

BOOST_AUTO_TEST_CASE(signals_give_the_terminal_back)
{
    const auto path = fresh_path();
    const holder_process holder{"mutex", {path}};
    for (const int number : {SIGINT, SIGTERM, SIGQUIT}) {
        pseudo_terminal t{top({path}), environment()};
        BOOST_TEST(t.wait_for("(look_holder)"), t.output());
        t.send_signal(number);
        const auto ended = t.wait_for_exit();
        BOOST_TEST((ended && ended->signal == (number == SIGTERM ? 0 : number)),
                   "signal " << number);
        check_restored(t);
    }
    pseudo_terminal t{top({path}), environment()};
    BOOST_TEST(t.wait_for("(look_holder)"), t.output());
    t.send("\x03");
    BOOST_TEST(t.wait_for_exit().has_value());
    check_restored(t);
}

BOOST_AUTO_TEST_CASE(a_window_that_is_closed_ends_it)
{
    const auto path = fresh_path();
    const holder_process holder{"mutex", {path}};
    pseudo_terminal t{top({path}), environment()};
    BOOST_TEST(t.wait_for("(look_holder)"), t.output());
    t.hang_up();
    BOOST_TEST(t.wait_for_exit().has_value());
}

BOOST_AUTO_TEST_CASE(lines_fit_the_window)
{
    const auto path = fresh_path();
    const holder_process holder{"mutex", {path}};
    pseudo_terminal t{top({path}), environment(), {24, 40}};
    BOOST_TEST(t.wait_for("IN QUEUE"), t.output());
    BOOST_TEST(!has(t.screen(), "(look_holder)"), t.screen());
    t.resize({24, 200});
    BOOST_TEST(t.wait_for("(look_holder)"), t.screen());
}

// A client that may create one node there chooses its name.
BOOST_AUTO_TEST_CASE(a_long_name_hides_no_other_lock)
{
    const auto path = fresh_path();
    const holder_process holder{"mutex", {path}};
    admin.create(root + '/' + std::string(200, 'x'));
    pseudo_terminal t{top({root}), environment(), {24, 200}};
    BOOST_TEST(t.wait_for("xxxxxxxx"), t.output());
    BOOST_TEST(t.wait_for("(look_holder)"), t.screen());
}

// It reads 256 of them, by their names: servers list them in an order of their own.
BOOST_AUTO_TEST_CASE(a_lock_among_the_first_names_is_seen_beside_many_nodes)
{
    const auto path = fresh_path();
    admin.create(path);
    admin.create(path + "/a", "", admin_session::mode::ephemeral);
    const holder_process holder{"mutex", {path + "/inner"}};
    for (int i = 1000; i != 1400; ++i) {
        admin.create(path + "/m" + std::to_string(i), "", admin_session::mode::ephemeral);
    }
    const auto r = colock({"top", path});
    BOOST_TEST(has(r.out, path + "/inner "), r.out.substr(0, 1000));
}

BOOST_AUTO_TEST_CASE(it_survives_a_lost_connection)
{
    const auto path = fresh_path();
    const holder_process holder{"mutex", {path}};
    tcp_proxy proxy{look_server().connect_string()};
    auto where = environment();
    where[0] = "COLOCK_SERVERS=" + proxy.connect_string();
    pseudo_terminal t{top({path}), where};
    BOOST_TEST(t.wait_for("(look_holder)"), t.output());
    proxy.refuse(true, refusal::close_at_once);
    proxy.cut();
    BOOST_TEST(t.wait_for("connection lost, trying again"), t.screen());
    proxy.refuse(false);
    BOOST_TEST(t.wait_for("top: connected"), t.screen());
    t.send("q");
    const auto ended = t.wait_for_exit();
    BOOST_TEST((ended && ended->code == 0));
}

BOOST_AUTO_TEST_CASE(without_a_terminal_it_prints_once)
{
    const auto path = fresh_path();
    const holder_process holder{"mutex", {path}};
    const auto r = colock({"top", root});
    BOOST_TEST(r.status == 0, r.err);
    BOOST_TEST(has(r.out, path), r.out);
    BOOST_TEST(has(r.out, "mutex\n"), r.out);
    BOOST_TEST(!has(r.out, "\x1b"));
    const auto none = colock({"top", root + "/missing"});
    BOOST_TEST(none.status == 1);
    BOOST_TEST(has(none.out, "does not exist"), none.out);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::look_top_test
