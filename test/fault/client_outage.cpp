// What the client costs while there is no server.
#include <colock/client.hpp>
#include <support/client_scene.hpp>
#include <support/loopback_port.hpp>
#include <support/sanitizers.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/test/unit_test.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace colock::test::client_outage_test {

using namespace std::chrono_literals;

using clock_type = std::chrono::steady_clock;

namespace {

// Of this thread, which alone runs the client.
std::chrono::microseconds processor_time()
{
    rusage used{};
    ::getrusage(RUSAGE_THREAD, &used);
    return std::chrono::seconds{used.ru_utime.tv_sec + used.ru_stime.tv_sec} +
           std::chrono::microseconds{used.ru_utime.tv_usec + used.ru_stime.tv_usec};
}

// Runs the client for a while; returns when each of its attempts to connect was seen.
std::vector<clock_type::time_point> attempts_during(client_scene& s,
                                                    std::chrono::milliseconds duration)
{
    std::vector<clock_type::time_point> seen;
    auto known = s.zk.stats().connect_attempts;
    const auto end = clock_type::now() + duration;
    s.io.restart();
    while (s.io.run_one_until(end) != 0) {
        for (; known != s.zk.stats().connect_attempts; ++known) {
            seen.push_back(clock_type::now());
        }
    }
    return seen;
}

// The most attempts in any second. They are seen a moment late, hence a little less than a second.
std::size_t most_in_a_second(const std::vector<clock_type::time_point>& attempts)
{
    std::size_t most = 0;
    for (auto first = attempts.begin(); first != attempts.end(); ++first) {
        const auto last = std::lower_bound(first, attempts.end(), *first + 950ms);
        most = std::max(most, static_cast<std::size_t>(last - first));
    }
    return most;
}

void all_servers_go_away_and_come_back(std::chrono::milliseconds duration)
{
    // Some that never were, and one that was.
    const loopback_port nobody, nobody_either;
    tcp_proxy proxy = link_proxy(one_server::get());
    client_options options;
    options.hosts = nobody.address() + "," + proxy.connect_string() + "," + nobody_either.address();
    client_scene s{options};
    s.connect();
    proxy.refuse(true);
    proxy.cut();
    const auto begin = processor_time();
    const auto attempts = attempts_during(s, duration);
    const auto used = processor_time() - begin;
    BOOST_TEST(s.zk.state() == connection_state::suspended);
    BOOST_TEST(attempts.size() >= static_cast<std::size_t>(duration / 1s));
    BOOST_TEST(attempts.size() <= static_cast<std::size_t>(10 * duration / 1s));
    BOOST_TEST(most_in_a_second(attempts) <= 10u);
    BOOST_TEST_MESSAGE(attempts.size() << " attempts and " << used.count() << " us of a core in "
                                       << duration.count() << " ms");
    if constexpr (optimized) {
        BOOST_TEST((used < duration / 100));
    }
    proxy.refuse(false);
    BOOST_TEST(s.wait_for(connection_state::connected, 8s));
    BOOST_TEST(!s.get("/").failed());
    s.close();
}

} // namespace

BOOST_AUTO_TEST_SUITE(client_outage, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(while_all_servers_are_away_the_client_tries_seldom_and_is_back_soon)
{
    all_servers_go_away_and_come_back(4s);
}

BOOST_AUTO_TEST_CASE(without_a_connect_timeout_the_client_tries_until_it_succeeds_or_is_cancelled)
{
    client_scene s{{.connect_timeout = std::chrono::milliseconds::max(), .backoff_max = 100ms}};
    s.proxy.refuse(true);
    boost::asio::cancellation_signal signal;
    const outcome<> cancelled;
    s.zk.async_connect(boost::asio::bind_cancellation_slot(signal.slot(), cancelled.handler()));
    BOOST_TEST(becomes_true(s.io, [&] { return s.zk.stats().connect_attempts >= 5; }));
    BOOST_TEST(!cancelled.done());
    signal.emit(boost::asio::cancellation_type::terminal);
    BOOST_TEST(code_of(s.io, cancelled) == boost::asio::error::operation_aborted);
    BOOST_TEST(s.zk.state() == connection_state::idle);

    const outcome<> connected;
    s.zk.async_connect(connected.handler());
    const auto before = s.zk.stats().connect_attempts;
    BOOST_TEST(becomes_true(s.io, [&] { return s.zk.stats().connect_attempts >= before + 5; }));
    BOOST_TEST(!connected.done());
    s.proxy.refuse(false);
    BOOST_TEST(code_of(s.io, connected) == colock::error_code{});
    s.close();
}

// By name only: ctest runs it as a test of its own.
BOOST_AUTO_TEST_CASE(a_minute_without_servers_costs_next_to_nothing_soak,
                     *boost::unit_test::disabled())
{
    all_servers_go_away_and_come_back(60s);
}

BOOST_AUTO_TEST_CASE(servers_that_hang_up_at_once_are_not_hammered_either)
{
    client_scene s;
    s.connect();
    s.proxy.refuse(true, refusal::close_at_once);
    s.proxy.cut();
    BOOST_TEST(most_in_a_second(attempts_during(s, 1'200ms)) <= 10u);
    s.reconnect();

    // Nor are those that grant the session again and again, and then hang up.
    auto flapping = s.proxy.on_reply(opcode::connect, reaction::deliver_and_cut, {.times = 0});
    s.proxy.cut();
    BOOST_TEST(most_in_a_second(attempts_during(s, 1'200ms)) <= 10u);
    BOOST_TEST(flapping.fired() > 0u);
    flapping.release();
    s.sync();
    s.close();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::client_outage_test
