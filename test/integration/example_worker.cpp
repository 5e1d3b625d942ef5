// The example worker is told of its loss, and leaves nothing behind.
#include <support/session_killer.hpp>
#include <support/tcp_proxy.hpp>

#include "example_scene.hpp"

#include <csignal>

using namespace colock::test;

BOOST_FIXTURE_TEST_CASE(a_worker_is_told_of_each_loss, example_scene)
{
    constexpr auto working = "working with fencing token ";
    tcp_proxy proxy{server.connect_string()};
    example worker{"worker", {proxy.connect_string()}};
    const auto first = worker.line_after(working);

    // Its session ends on the server, and it cannot take that up again meanwhile.
    proxy.refuse(true);
    BOOST_TEST(!kill_session(server.connect_string(), proxy.sessions().back()));
    proxy.refuse(false);
    BOOST_TEST(worker.line_after("stopped: ").find("session") != std::string::npos);
    const auto second = worker.line_after(working);
    BOOST_TEST(first < second);

    // Its server is out of reach.
    proxy.stall(true);
    worker.line_after("stopped: ");
    proxy.stall(false);
    const auto third = worker.line_after(working);
    BOOST_TEST(second < third);

    worker.send_signal(SIGTERM);
    BOOST_TEST(worker.rest().empty());
    BOOST_TEST(worker.wait().success());
    check_nothing_left();
}
