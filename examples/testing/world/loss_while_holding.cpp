// A test of a program under virtual time: the network is cut while it works under a lock.
#define BOOST_TEST_MODULE loss_while_holding
#include <colock/colock.hpp>
#include <colock/testing/world.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(the_body_is_cancelled_in_time_when_the_network_is_cut)
{
    bool working = false;
    const auto program = [&](asio::io_context& context,
                             std::string hosts) -> asio::awaitable<void> {
        colock::client zk{context, {.hosts = hosts}};
        co_await zk.async_connect();
        colock::mutex jobs{zk, "/locks/jobs"};
        const auto work = [&](const colock::unique_lock&) -> asio::awaitable<void> {
            working = true;
            co_await asio::steady_timer{context, 1h}.async_wait(asio::use_awaitable);
        };
        try {
            co_await jobs.async_with_lock(work);
        } catch (const boost::system::system_error& lost) {
            working = lost.code() != colock::condition::lock_lost;
        }
    };
    colock::testing::world w{1};
    w.start_process("worker", program);
    BOOST_REQUIRE(w.run_until([&] { return working; }, 10s));
    w.cut("worker");
    BOOST_TEST(w.run_until([&] { return !working; }, 10s)); // a session lasts ten seconds
    BOOST_TEST(w.nodes("/locks/jobs").size() == 1U);        // nobody else can have the lock yet
}
