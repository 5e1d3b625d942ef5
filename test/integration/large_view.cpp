// Views of queues that are larger than what one request, or one turn of a handler, should handle.
#include <colock/queue_view.hpp>
#include <support/lock_scene.hpp>
#include <support/sanitizers.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::large_view_test {

namespace {

// Of this thread, which alone runs the client. Unlike the time of day it does not depend on what else the machine does.
std::chrono::nanoseconds processor_time()
{
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

struct large_scene : lock_scene {
    // Contenders of a mutex that nobody drives, in an order that is not that of their numbers.
    void fill(client& c, int count)
    {
        admin.create(directory);
        constexpr int a_time = 1'000;
        for (int begin = 0; begin < count; begin += a_time) {
            std::vector<transaction_op> ops;
            for (int i = begin; i != std::min(begin + a_time, count); ++i) {
                ops.push_back(create_op(directory + '/' + name(i), std::to_string(i)));
            }
            outcome<std::vector<transaction_result>> made;
            c.async_multi(std::move(ops), made.handler());
            value_of(io, made);
        }
    }

    static std::string name(int i)
    {
        char text[64];
        std::snprintf(text, sizeof text, "_c_%08x-0000-0000-0000-000000000000-lock-%010d",
                      static_cast<unsigned>(i) * 2654435761U, i);
        return text;
    }

    struct observed {
        queue_view view;
        std::size_t most_in_flight = 0;
        std::chrono::nanoseconds longest_turn{0}; // of a handler, in time of the processor
    };

    observed look(client& c)
    {
        outcome<queue_view> o;
        async_view_queue(c, directory, curator_layout(), o.handler());
        observed result;
        const auto limit = std::chrono::steady_clock::now() + 300s;
        io.restart();
        while (!o.done() && std::chrono::steady_clock::now() < limit) {
            const auto begin = processor_time();
            io.run_one_for(100ms);
            result.longest_turn = std::max(result.longest_turn, processor_time() - begin);
            result.most_in_flight = std::max(result.most_in_flight, c.stats().in_flight);
        }
        result.view = value_of(io, o);
        return result;
    }

    void check(const queue_view& view, int count)
    {
        BOOST_REQUIRE(view.entries.size() == static_cast<std::size_t>(count));
        int wrong = 0;
        for (int i = 0; i != count; ++i) {
            const auto& e = view.entries[static_cast<std::size_t>(i)];
            const bool right = e.number == i && e.name == name(i) &&
                               e.path == directory + '/' + e.name && e.holds == (i == 0) &&
                               (e.unreadable || e.data == std::to_string(i));
            wrong += right ? 0 : 1;
        }
        BOOST_TEST(wrong == 0);
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(large_view, large_scene)

BOOST_AUTO_TEST_CASE(nodes_are_read_in_batches_and_what_cannot_be_read_is_marked)
{
    constexpr int count = 3'000, no_auth = -102, unimplemented = -6;
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    fill(c, count);
    proxy.on_reply(opcode::get_data, reaction::replace,
                   {.path_prefix = directory + '/' + name(0), .replacement = no_auth});
    proxy.on_reply(opcode::get_data, reaction::replace,
                   {.path_prefix = directory + '/' + name(2'000), .replacement = unimplemented});
    admin.create(directory + "/other");
    const auto seen = look(c);
    check(seen.view, count);
    BOOST_TEST(seen.most_in_flight <= 64U + 2U); // and the heartbeats
    for (int i = 0; i != count; ++i) {
        const auto& ec = seen.view.entries[static_cast<std::size_t>(i)].unreadable;
        BOOST_TEST((i == 0      ? ec == zookeeper_errc::no_auth
                    : i == 2000 ? ec == zookeeper_errc::unimplemented
                                : !ec));
    }
}

BOOST_AUTO_TEST_CASE(nodes_that_cannot_even_be_asked_for_are_marked)
{
    constexpr int count = 20'000;
    fill(connect(), count);
    auto& c = connect({.max_request_size = directory.size() + 40}); // less than the path of a node
    const auto seen = look(c);
    check(seen.view, count);
    BOOST_TEST(std::ranges::all_of(seen.view.entries, [](const queue_entry& e) {
        return e.unreadable == errc::request_too_large;
    }));
}

BOOST_AUTO_TEST_CASE(a_view_that_is_cancelled_or_closed_under_way_ends)
{
    auto& c = connect();
    fill(c, 5'000);
    asio::cancellation_signal signal;
    outcome<queue_view> cancelled;
    async_view_queue(c, directory, curator_layout(),
                     asio::bind_cancellation_slot(signal.slot(), cancelled.handler()));
    BOOST_TEST(until([&] { return c.stats().replies > 100; }));
    BOOST_TEST(!cancelled.done());
    signal.emit(asio::cancellation_type::total);
    BOOST_TEST(code_of(io, cancelled) == asio::error::operation_aborted);

    outcome<queue_view> closed;
    async_view_queue(c, directory, curator_layout(), closed.handler());
    const auto before = c.stats().replies;
    BOOST_TEST(until([&] { return c.stats().replies > before + 100; }));
    outcome<> over;
    c.async_close(over.handler());
    BOOST_TEST(code_of(io, closed) == errc::client_closed);
    BOOST_TEST(code_of(io, over) == error_code{});
}

// By name only: ctest runs it as a test of its own.
BOOST_AUTO_TEST_CASE(no_handler_waits_long_for_a_view_of_200_000_soak,
                     *boost::unit_test::disabled())
{
    constexpr int count = 200'000;
    auto& c = connect({.session_timeout = 30s});
    fill(c, count);
    const auto seen = look(c);
    check(seen.view, count);
    BOOST_TEST(seen.most_in_flight <= 64U + 2U);
    BOOST_TEST_MESSAGE(
        "the longest turn took "
        << std::chrono::duration_cast<std::chrono::microseconds>(seen.longest_turn).count()
        << " us");
    if constexpr (optimized) {
        BOOST_TEST((seen.longest_turn < 50ms));
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::large_view_test
