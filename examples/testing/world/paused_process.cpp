// A test of a program under virtual time: its process stands still for longer than its session lasts.
#define BOOST_TEST_MODULE paused_process
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

BOOST_AUTO_TEST_CASE(a_process_that_was_paused_takes_no_further_step)
{
    std::string last;
    const auto writer = [&](std::string name) {
        return [&last, name](auto& context, std::string hosts) -> asio::awaitable<void> {
            colock::client zk{context, {.hosts = hosts}};
            co_await zk.async_connect();
            colock::mutex m{zk, "/locks/ledger"};
            const auto held = co_await m.async_lock();
            for (asio::steady_timer step{context}; held; step.expires_after(100ms)) {
                co_await step.async_wait(asio::use_awaitable);
                last = held ? name : last; // looks at the guard right before it writes
            }
        };
    };
    colock::testing::world w{1};
    w.start_process("first", writer("first"));
    BOOST_REQUIRE(w.run_until([&] { return last == "first"; }, 10s));
    w.start_process("second", writer("second"));
    w.pause("first");
    BOOST_REQUIRE(w.run_until([&] { return last == "second"; }, 1min));
    w.resume("first");
    BOOST_TEST(!w.run_until([&] { return last == "first"; }, 10s));
}
