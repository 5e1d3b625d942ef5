// async_try_lock_for and async_try_lock_until: any duration, one deadline for the whole wait, nothing left behind.
#include <support/lock_scene.hpp>
#include <support/requests_of.hpp>
#include <support/sanitizers.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <list>
#include <random>
#include <vector>

namespace colock::test::mutex_timed_test {

namespace {

using std::chrono::steady_clock;

struct timed_scene : lock_scene {
    client& zk = connect();
    mutex lock{zk, directory, with_nodes()};

    template <class Duration>
    outcome<unique_lock> start_for(Duration d)
    {
        outcome<unique_lock> o;
        lock.async_try_lock_for(d, o.handler());
        return o;
    }
    template <class TimePoint>
    outcome<unique_lock> start_until(TimePoint t)
    {
        outcome<unique_lock> o;
        lock.async_try_lock_until(t, o.handler());
        return o;
    }
    // Free: it is granted.
    void check_granted(const outcome<unique_lock>& o)
    {
        auto held = value_of(io, o);
        BOOST_TEST(bool(held));
        BOOST_TEST(unlock(held) == error_code{});
    }
    // Busy: it is not, and no node stays.
    void check_refused(const outcome<unique_lock>& o)
    {
        BOOST_TEST(!value_of(io, o));
        BOOST_TEST(until([&] { return queue().size() == 1U; }));
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(mutex_timed, timed_scene)

BOOST_AUTO_TEST_CASE(a_free_mutex_is_granted_with_any_limit)
{
    check_granted(start_for(1min));
    check_granted(start_for(0s));
    check_granted(start_for(-1h));
    check_granted(start_for(std::chrono::hours::max()));
    check_granted(start_for(std::chrono::hours::min()));
    check_granted(start_for(std::chrono::nanoseconds::max()));
    check_granted(start_for(std::chrono::nanoseconds::min()));
    check_granted(start_for(std::chrono::duration<double>{1e300}));
    check_granted(start_for(std::chrono::duration<float>{std::numeric_limits<float>::quiet_NaN()}));
    check_granted(
        start_for(std::chrono::duration<double>{-std::numeric_limits<double>::infinity()}));
    check_granted(start_until(steady_clock::now() + 1min));
    check_granted(start_until(steady_clock::now()));
    check_granted(start_until(steady_clock::time_point::max()));
    check_granted(start_until(steady_clock::time_point::min()));
    check_granted(start_until(std::chrono::time_point<steady_clock, std::chrono::hours>::max()));
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_busy_mutex_is_refused_when_the_time_is_over)
{
    auto held = hold(connect());
    check_refused(start_for(20ms));
    check_refused(start_for(1ns));
    check_refused(start_for(0s));
    check_refused(start_for(-1h));
    check_refused(start_until(steady_clock::now() + 20ms));
    check_refused(start_until(steady_clock::now() - 20ms));
    check_refused(start_until(steady_clock::time_point::min()));
    held = {};
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(without_a_time_it_writes_nothing)
{
    auto held = hold(connect());
    for (const auto limit : {0ms, -5ms}) {
        const auto before = requests_of(zk);
        BOOST_TEST(!value_of(io, start_for(limit)));
        BOOST_TEST(requests_of(zk) - before == 1U);
    }
}

BOOST_AUTO_TEST_CASE(without_an_end_it_waits_like_lock)
{
    auto held = hold(connect());
    for (const auto& o :
         {start_for(std::chrono::hours::max()), start_until(steady_clock::time_point::max())}) {
        BOOST_TEST(until([&] { return queue().size() >= 2U; }));
        BOOST_TEST(!o.done());
    }
}

// The limit begins with the initiation, and does not begin anew when a predecessor leaves.
BOOST_AUTO_TEST_CASE(there_is_one_deadline_for_the_whole_wait)
{
    std::list<unique_lock> before;
    before.push_back(hold(connect()));
    std::vector<outcome<unique_lock>> queued;
    for (int i = 0; i != 6; ++i) {
        queued.push_back(start_waiter(connect()));
    }
    const auto begun = steady_clock::now();
    auto ended = begun;
    bool granted = true;
    mutex{zk, directory, with_nodes()}.async_try_lock_for(1500ms,
                                                          [&](error_code ec, const unique_lock& l) {
                                                              BOOST_TEST(!ec);
                                                              granted = bool(l);
                                                              ended = steady_clock::now();
                                                          });
    for (auto& each : queued) { // one leaves every 200 ms
        go_on(io, 200ms);
        before.pop_front();
        before.push_back(value_of(io, each));
    }
    BOOST_TEST(until([&] { return ended != begun; }));
    BOOST_TEST(!granted);
    BOOST_TEST((ended - begun >= 1500ms));
    BOOST_TEST((ended - begun < 2600ms)); // anew from the last, it would be 2700 ms
    before.clear();
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_grant_in_time_is_delivered)
{
    auto held = hold(connect());
    const auto o = start_for(30s);
    BOOST_TEST(until([&] { return queue().size() == 2U; }));
    held = {};
    BOOST_TEST(bool(value_of(io, o)));
}

BOOST_AUTO_TEST_CASE(without_a_connection_it_waits_for_one_until_the_deadline)
{
    tcp_proxy proxy{server.connect_string()};
    auto& cut_off = connect_through(proxy);
    mutex m{cut_off, directory};
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(until([&] { return cut_off.state() == connection_state::suspended; }));
    outcome<unique_lock> at_once, later;
    m.async_try_lock_for(0s, at_once.handler());
    m.async_try_lock_for(50ms, later.handler());
    BOOST_TEST(code_of(io, at_once) == errc::disconnected);
    BOOST_TEST(code_of(io, later) == errc::disconnected);
    outcome<unique_lock> in_time;
    m.async_try_lock_for(30s, in_time.handler());
    proxy.refuse(false);
    BOOST_TEST(bool(value_of(io, in_time)));
    in_time.value() = {};
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(deadlines_and_cancellation)
{
    auto held = hold(connect());
    asio::cancellation_signal stop;
    outcome<unique_lock> o;
    lock.async_try_lock_for(30s, asio::bind_cancellation_slot(stop.slot(), o.handler()));
    BOOST_TEST(until([&] { return queue().size() == 2U; }));
    stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(code_of(io, o) == asio::error::operation_aborted);
    held = {};
    check_nothing_left();
}

constexpr int at_a_time = sanitized ? 20 : 100; // such a build is ten times slower

// Waiters with limits of their own, behind a proxy. How late each of them is told, in milliseconds.
struct lateness {
    explicit lateness(timed_scene& s, std::chrono::milliseconds round_trip)
    {
        tcp_proxy proxy{s.server.connect_string()};
        auto& waiting = s.connect_through(proxy);
        mutex m{waiting, s.directory};
        auto held = s.hold(s.zk);
        proxy.set_delay(round_trip / 2);
        std::minstd_rand random{1};
        int open = 0;
        for (int i = 0; i != 20 * at_a_time; ++i) {
            const auto limit = std::chrono::microseconds{random() % 200'000 + 1};
            const auto due = steady_clock::now() + limit;
            ++open;
            m.async_try_lock_for(limit, [&, due](error_code ec, const unique_lock& l) {
                --open;
                late.push_back(
                    std::chrono::duration<double, std::milli>(steady_clock::now() - due).count());
                BOOST_TEST(ec == error_code{});
                BOOST_TEST(!l);
            });
            run_until(s.io, [&] { return open < at_a_time; });
        }
        run_until(s.io, [&] { return open == 0; });
        std::ranges::sort(late);
        held = {};
        s.check_nothing_left();
    }

    [[nodiscard]] double at(double part) const
    {
        return late[static_cast<std::size_t>(part * static_cast<double>(late.size() - 1))];
    }

    std::vector<double> late;
};

// The best of several rounds: other work on the machine can only make it worse. Without optimisation that holds for the median
// only: the greatest of so many is what the machine makes of it.
BOOST_AUTO_TEST_CASE(deadlines_are_kept_under_load)
{
    constexpr auto round_trip = 10ms;
    constexpr double limit = 20.0 + 10.0;
    constexpr double limit_of_greatest = 20.0 + 10.0 * slowness;
    bool are_kept = false;
    for (int round = 0; round != 8 && !are_kept; ++round) {
        const lateness l{*this, round_trip};
        std::printf(
            "figure: deadline error of try_lock_for, %d waiters at a time: median %.2f ms, p99 "
            "%.2f ms, greatest %.2f ms, least %.2f ms\n",
            at_a_time, l.at(0.5), l.at(0.99), l.at(1), l.at(0));
        BOOST_TEST(l.at(0) >= 0.0);
        are_kept = l.at(0.5) <= limit && l.at(1) <= limit_of_greatest;
    }
    BOOST_TEST(are_kept);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::mutex_timed_test
