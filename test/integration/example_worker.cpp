// The example worker is told of its loss, and leaves nothing behind.
#include "example_scene.hpp"

#include <csignal>

namespace colock::test::example_worker_test {

BOOST_AUTO_TEST_SUITE(example_worker)

BOOST_FIXTURE_TEST_CASE(a_worker_is_told_of_each_loss, example_scene)
{
    constexpr auto working = "working with fencing token ";
    example worker{"worker", {server.hosts()}};
    const auto first = worker.line_after(working);

    server.expire(server.sessions().back());
    worker.line_after("stopped: ");
    const auto second = worker.line_after(working);
    BOOST_TEST(first < second);

    server.pause();
    worker.line_after("stopped: ");
    server.resume();
    const auto third = worker.line_after(working);
    BOOST_TEST(second < third);

    worker.send_signal(SIGTERM);
    BOOST_TEST(worker.rest().empty());
    BOOST_TEST(worker.wait().success());
    check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::example_worker_test
