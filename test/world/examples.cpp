// The coroutines of the examples in virtual time, unchanged: what they print, and how fast it is. Those that need other
// libraries are in examples_and_libraries.cpp. Not here, because more than the clients of colock waits, reads or writes there:
//  - futures: its functions block threads of their own;
//  - http_server: its coroutines wait for sockets;
//  - fence/...: their coroutines ask the terminal, and most of them a database, a file, a broker or an HTTP server;
//  - senders: its main function is what waits;
//  - demo and turn_taker: processes, signals, and a file that they share.
#include <colock/colock.hpp>
#include <colock/fence/fenced.hpp>

#include "example_scene.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <functional>
#include <iostream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Each in a namespace of its own, where its main() is a function as any other. What they include is included above.
#pragma GCC diagnostic ignored "-Wreturn-type"
namespace as_tuple {
#include "../../examples/as_tuple.cpp"
}
namespace callbacks {
#include "../../examples/callbacks.cpp"
}
namespace curator_queue {
#include "../../examples/curator_queue.cpp"
}
namespace elected_leader {
#include "../../examples/elected_leader.cpp"
}
namespace hello_lock {
#include "../../examples/hello_lock.cpp"
}
namespace rate_limiter {
#include "../../examples/rate_limiter.cpp"
}
namespace reader_writer_cache {
#include "../../examples/reader_writer_cache.cpp"
}
namespace shards {
#include "../../examples/shards.cpp"
}
namespace standalone {
#include "../../examples/standalone/main.cpp"
}
namespace timed_try {
#include "../../examples/timed_try.cpp"
}
namespace transfer {
#include "../../examples/transfer.cpp"
}
namespace worker {
#include "../../examples/worker.cpp"
}

namespace world {

BOOST_AUTO_TEST_SUITE(world_of_examples)

BOOST_FIXTURE_TEST_CASE(as_tuple, scene)
{
    int status = 1;
    start("one", [&](auto& zk) { return ::as_tuple::run(zk, "/locks/greetings", status); });
    w.run_for(1s);
    BOOST_TEST(status == 0);
    BOOST_TEST(printed("hello, my fencing token is ") == 1U);
}

BOOST_FIXTURE_TEST_CASE(callbacks, scene)
{
    w.start_process("one", [](auto& context, std::string hosts) -> asio::awaitable<void> {
        ::callbacks::greeter one{context, hosts};
        one.start();
        co_await asio::steady_timer{context, 1min}.async_wait(asio::use_awaitable);
    });
    w.run_for(1s);
    BOOST_TEST(printed("hello, my fencing token is ") == 1U);
}

BOOST_FIXTURE_TEST_CASE(curator_queue, scene)
{
    start("colock", [](auto& zk) { return ::curator_queue::run(zk, 10); });
    w.start_rival("java", "/locks/counter", 10ms);
    w.run_for(10s);
    BOOST_TEST(printed("colock counts 10\n") == 1U);
}

BOOST_FIXTURE_TEST_CASE(elected_leader, scene)
{
    for (const std::string name : {"alpha", "bravo", "charlie"}) {
        start(name, [name](auto& zk) { return ::elected_leader::run(zk, name); });
    }
    run_fast(1h);
    BOOST_TEST(printed("leading, ") == 1U);
    w.kill("alpha");
    w.kill("bravo");
    run_fast(1h);
    BOOST_TEST(printed("the leader is charlie") != 0U);
}

BOOST_FIXTURE_TEST_CASE(hello_lock, scene)
{
    start("one", ::hello_lock::hello);
    start("other", ::hello_lock::hello);
    w.run_for(1s);
    BOOST_TEST(printed("hello, my fencing token is ") == 2U);
}

BOOST_FIXTURE_TEST_CASE(rate_limiter, scene)
{
    start("one", [](auto& zk) { return ::rate_limiter::run(zk, 10); });
    start("other", [](auto& zk) { return ::rate_limiter::run(zk, 10); });
    w.run_for(5s);
    BOOST_TEST(printed("call from ") == 20U);
}

BOOST_FIXTURE_TEST_CASE(reader_writer_cache, scene)
{
    start("one", [](auto& zk) { return ::reader_writer_cache::run(zk, 10s); });
    start("other", [](auto& zk) { return ::reader_writer_cache::run(zk, 10s); });
    w.run_for(5s);
    BOOST_TEST(printed("making new rates") == 1U);
    BOOST_TEST(printed("served") == 2U);
    w.run_for(10s);
    start("later", [](auto& zk) { return ::reader_writer_cache::run(zk, 10s); });
    w.run_for(5s);
    BOOST_TEST(printed("making new rates") == 2U);
}

BOOST_FIXTURE_TEST_CASE(shards, scene)
{
    for (const std::string name : {"alpha", "bravo", "charlie"}) {
        start(name, [name](auto& zk) { return ::shards::run(zk, name); });
    }
    run_fast(1h);
    const auto owned = printed("owns ");
    w.kill("alpha");
    run_fast(1h);
    BOOST_TEST(printed("owns ") > owned + 1);
}

BOOST_FIXTURE_TEST_CASE(standalone, scene)
{
    start("one", ::standalone::run);
    start("other", ::standalone::run);
    w.run_for(1s);
    BOOST_TEST(printed("my turn, with fencing token ") == 2U);
}

BOOST_FIXTURE_TEST_CASE(timed_try, scene)
{
    start("one", [](auto& zk) { return ::timed_try::run(zk, 2s, 10s); });
    start("other", [](auto& zk) { return ::timed_try::run(zk, 2s, 10s); });
    w.run_for(1min);
    BOOST_TEST(printed("the backup has 42 files") == 1U);
    BOOST_TEST(printed("busy: ") == 1U);
}

BOOST_FIXTURE_TEST_CASE(transfer, scene)
{
    int one = 1;
    int other = 1;
    start("one", [&](auto& zk) { return ::transfer::transfer(zk, "alice", "bob", 10, one); });
    start("other", [&](auto& zk) { return ::transfer::transfer(zk, "bob", "alice", 20, other); });
    w.run_for(10s);
    BOOST_TEST(w.data("/accounts/alice").value_or("") == "110");
    BOOST_TEST(w.data("/accounts/bob").value_or("") == "90");
    BOOST_TEST(one == 0);
    BOOST_TEST(other == 0);
}

BOOST_FIXTURE_TEST_CASE(transfer_that_is_cut_off, scene)
{
    int status = 1;
    std::string failed;
    const auto cut_when = [&](const std::string& name, const auto& happened) {
        status = 1;
        w.start_process(name, [&](auto& context, std::string hosts) -> asio::awaitable<void> {
            colock::client zk{context, {.hosts = hosts}};
            try {
                co_await ::transfer::transfer(zk, "alice", "bob", 10, status);
            } catch (const std::exception& e) {
                failed = e.what();
            }
        });
        failed.clear();
        for (int i = 0; i != 100'000 && !happened(); ++i) {
            w.run_for(100us);
        }
        BOOST_TEST_REQUIRE(happened(), failed);
        w.cut(name);
        w.run_for(1min);
    };
    // Before it has the answer, and after it.
    cut_when("one", [&] { return w.data("/accounts/alice").value_or("") == "90"; });
    BOOST_TEST(failed == "the money may have moved: look at both accounts");
    BOOST_TEST(status == 1);
    cut_when("other", [&] { return printed("alice has 80, bob has 120") == 1; });
    BOOST_TEST(failed.find("lock was lost") != failed.npos, failed);
    BOOST_TEST(status == 0);
}

BOOST_FIXTURE_TEST_CASE(worker, scene)
{
    start("one", ::worker::run);
    w.run_for(1min);
    w.cut("one");
    w.run_for(1min);
    BOOST_TEST(printed("stopped: ") == 1U);
    w.mend("one");
    w.run_for(1min);
    BOOST_TEST(printed("working with fencing token ") == 2U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace world
