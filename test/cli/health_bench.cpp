// `colock bench`: what it says, and that it leaves nothing behind.
#include <support/admin_session.hpp>
#include <support/wait_until.hpp>
#include <support/zookeeper_server.hpp>

#include "colock_process.hpp"

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <csignal>

namespace colock::test::health_bench_test {

using namespace std::chrono_literals;

namespace {

struct scene {
    zookeeper_server server{zookeeper_options{}};
    std::int64_t nodes = server.node_count();

    colock_result bench(std::vector<std::string> arguments)
    {
        arguments.insert(arguments.begin(), "bench");
        return run_colock(server.connect_string(), std::move(arguments));
    }
    void check_nothing_is_left()
    {
        BOOST_TEST(server.node_count() == nodes);
        BOOST_TEST(server.sessions().empty());
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(health_bench)

BOOST_FIXTURE_TEST_CASE(each_figure_comes_with_its_meaning, scene)
{
    const auto r = bench({"--seconds", "1", "--json"});
    BOOST_TEST(r.status == 0, r.err);
    const auto said = boost::json::parse(r.out);
    const std::vector<std::string> names{"read",        "write",       "lock_unlock",
                                         "hand_over_2", "hand_over_8", "hand_off_in_memory"};
    const auto& results = said.at("results").as_array();
    BOOST_TEST_REQUIRE(results.size() == names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
        BOOST_TEST(results[i].at("name").as_string().c_str() == names[i]);
        BOOST_TEST(results[i].at("samples").to_number<int>() > 0);
        BOOST_TEST(!results[i].at("meaning").as_string().empty());
        const auto* const figure = i < 3 ? "median_ms" : "per_second";
        BOOST_TEST(results[i].at(figure).to_number<double>() > 0);
    }
    const auto text = bench({"--seconds", "1"});
    BOOST_TEST(text.status == 0);
    BOOST_TEST(text.out.find("\nhand-over among 8 clients: ") != text.out.npos, text.out);
    check_nothing_is_left();
}

BOOST_FIXTURE_TEST_CASE(a_path_of_others_is_left_alone, scene)
{
    admin_session admin{server.connect_string()};
    admin.create_path("/theirs/child");
    const auto there = bench({"--path", "/theirs"});
    BOOST_TEST(there.status == 122);
    BOOST_TEST(is_one_line(there.err), there.err);
    const auto nowhere = bench({"--path", "/not/there"});
    BOOST_TEST(nowhere.status == 122);
    BOOST_TEST(is_one_line(nowhere.err), nowhere.err);
    BOOST_TEST(admin.exists("/theirs/child").has_value());
    const auto own = bench({"--path", "/theirs/own/", "--seconds", "0.6"});
    BOOST_TEST(own.status == 0, own.err);
    BOOST_TEST(!admin.exists("/theirs/own").has_value());
}

BOOST_FIXTURE_TEST_CASE(an_interrupt_leaves_nothing, scene)
{
    // In each of its six parts: behind the figure that the one before has given. At least 750 ms are left then.
    struct part {
        const char* figure;
        const char* seconds;
    };
    for (const auto& each : {part{"about ", "1.5"}, part{"\nread", "1.5"}, part{"\nwrite", "1.5"},
                             part{"\nlock and", "1.5"}, part{"\nhand-over among 2", "2.5"},
                             part{"\nhand-over among 8", "5"}}) {
        colock_process p{server.connect_string(), {"bench", "--seconds", each.seconds}};
        BOOST_TEST(wait_until([&] { return p.out().find(each.figure) != std::string::npos; }, 60s));
        p.process().send_signal(SIGINT);
        BOOST_TEST(p.status() == 128 + SIGINT);
        check_nothing_is_left();
    }
}

BOOST_FIXTURE_TEST_CASE(an_output_that_nobody_reads_ends_it_in_order, scene)
{
    colock_process p{server.connect_string(),
                     {"-c", COLOCK_PROGRAM " bench --seconds 60 | head -1; exit ${PIPESTATUS[0]}"},
                     {},
                     "/bin/bash"};
    BOOST_TEST(p.status() == 128 + SIGPIPE);
    BOOST_TEST(p.out().starts_with("about "), p.out());
    BOOST_TEST(p.err() == "");
    check_nothing_is_left();
}

BOOST_AUTO_TEST_CASE(a_server_that_falls_silent_does_not_keep_it)
{
    zookeeper_options short_ticks;
    short_ticks.tick_time = 100ms;
    zookeeper_server server{short_ticks};
    colock_process p{server.connect_string(),
                     {"bench", "--seconds", "60", "--session-timeout", "1s", "--tick", "100ms"}};
    BOOST_TEST(wait_until([&] { return p.out().starts_with("about "); }, 30s));
    server.stop_process();
    BOOST_TEST(p.status(30s) == 121, p.err());
    BOOST_TEST(is_one_line(p.err()), p.err());
    server.continue_process();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::health_bench_test
