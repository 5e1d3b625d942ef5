// A test of a program under virtual time: a program that uses Apache Curator takes the same lock.
#define BOOST_TEST_MODULE rival
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

BOOST_AUTO_TEST_CASE(takes_turns_with_a_program_in_java)
{
    int turns = 0;
    colock::testing::world w{1};
    w.start_process(
        "colock", [&](asio::io_context& context, std::string hosts) -> asio::awaitable<void> {
            colock::client zk{context, {.hosts = hosts}};
            co_await zk.async_connect();
            colock::mutex jobs{zk, "/locks/jobs"};
            for (;; ++turns) {
                const auto held = co_await jobs.async_lock();
                BOOST_TEST(!w.holds("java"));
                co_await asio::steady_timer{context, 100ms}.async_wait(asio::use_awaitable);
                BOOST_TEST(!w.holds("java"));
            }
        });
    w.start_rival("java", "/locks/jobs", 100ms);
    for (int rivals_turns = 0; rivals_turns != 100; ++rivals_turns) {
        BOOST_REQUIRE(w.run_until([&] { return w.holds("java"); }, 10s));
        BOOST_REQUIRE(w.run_until([&] { return !w.holds("java"); }, 10s));
    }
    BOOST_TEST(turns > 50);
}
