// What `colock why` learns from several servers, and from servers that do not tell everything.
#include "look_scene.hpp"

#include <boost/test/unit_test.hpp>

namespace colock::test::look_ensemble_test {

namespace {

colock_result why(const std::string& servers, const std::string& path)
{
    return run_colock(servers, {"why", "--json", "--admin-port", "0", path},
                      {"COLOCK_TICK=100ms", "COLOCK_AUTH="});
}

const std::string elsewhere = "host=elsewhere pid=7 program=worker";

} // namespace

BOOST_AUTO_TEST_SUITE(look_ensemble)

// A server shows when it has last heard of a client, by a clock that only its own clients know.
BOOST_AUTO_TEST_CASE(whichever_server_the_holder_speaks_to)
{
    zookeeper_options options;
    options.tick_time = 100ms;
    options.max_session_timeout = 60s;
    zookeeper_ensemble ensemble{options};
    const auto servers = ensemble.connect_string();
    for (std::size_t i = 0; i != ensemble.size(); ++i) {
        const auto path = "/l" + std::to_string(i);
        holder_process holder{"mutex", {path}, 8s, elsewhere, ensemble[i].connect_string()};
        const auto alive = why(servers, path);
        BOOST_TEST(json_value(alive.out, "cause") == "held", alive.out << alive.err);
        BOOST_TEST(json_value(alive.out, "health") == "alive", alive.out);
        BOOST_TEST(has(alive.out, "connected to " + ensemble[i].connect_string()));

        // It lives, at a server that is not named.
        const auto& other = ensemble[(i + 1) % ensemble.size()].connect_string();
        const auto& third = ensemble[(i + 2) % ensemble.size()].connect_string();
        const auto twice = other + ",localhost" + other.substr(other.find(':'));
        for (const auto& part : {other, twice, other + ',' + third}) {
            const auto partly = why(part, path);
            BOOST_TEST(json_value(partly.out, "cause") == "held", partly.out << partly.err);
            BOOST_TEST(json_value(partly.out, "health") == "unknown", partly.out);
            BOOST_TEST(has(partly.out, "of the 3 servers of this ensemble"), partly.out);
        }

        holder.process().stop();
        std::string cause;
        BOOST_TEST(wait_until(
            [&] {
                cause = json_value(why(servers, path).out, "cause");
                return cause != "held";
            },
            long_enough));
        BOOST_TEST(cause == "silent_holder");
    }

    admin_session{servers}.create("/in");
    for (const std::string chroot : {"/in", ""}) {
        holder_process holder{"mutex", {chroot + "/last"}, 20s, elsewhere, servers};
        holder.process().kill();
        const auto dead = why(servers + chroot, "/last");
        BOOST_TEST(json_value(dead.out, "cause") == "dead_holder", dead.out);
    }
    // One of them does not answer: then the holder may be connected there.
    ensemble[ensemble.followers().front()].kill();
    const auto unknown = why(servers, "/last");
    BOOST_TEST(json_value(unknown.out, "cause") == "held", unknown.out << unknown.err);
    BOOST_TEST(has(unknown.out, "does not tell its connections"), unknown.out);
    BOOST_TEST(has(unknown.out, "cannot be known"), unknown.out);
}

BOOST_AUTO_TEST_CASE(a_server_that_does_not_tell_its_connections)
{
    zookeeper_options options;
    options.tick_time = 100ms;
    options.max_session_timeout = 60s;
    options.config_lines = {"4lw.commands.whitelist=srvr"};
    zookeeper_server server{options};
    const auto servers = server.connect_string();
    holder_process there{"mutex", {"/there"}, 20s, elsewhere, servers};
    const auto unknown = why(servers, "/there");
    BOOST_TEST(json_value(unknown.out, "cause") == "held", unknown.out << unknown.err);
    BOOST_TEST(json_value(unknown.out, "health") == "unknown");
    BOOST_TEST(has(unknown.out, "4lw.commands.whitelist=srvr,conf,cons,dump"), unknown.out);

    // What this host knows is enough.
    holder_process here{"mutex", {"/here"}, 20s, "-", servers};
    here.process().stop();
    BOOST_TEST(json_value(why(servers, "/here").out, "cause") == "stopped_holder");
    here.process().kill();
    BOOST_TEST(json_value(why(servers, "/here").out, "cause") == "dead_holder");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::look_ensemble_test
