// The parts of the simulated world: time, machines, links, processes.
#include "report/boot_clock.hpp"
#include "session/boot_timer.hpp"
#include "simulated.hpp"
#include "world/process.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace world {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using real_clock = std::chrono::steady_clock;

namespace {

struct nothing_here {
    timeline time;
    network net{time, random{1}};
};

// Two machines, and the connection between them once it is made.
struct connected : nothing_here {
    connected()
    {
        net.delay_all(100us, 500us);
        net.listen(server, "10.0.0.1:2181", [this](std::shared_ptr<stream> s) {
            accepted = std::move(s);
            accepted->handle(noting(server_heard));
        });
        made = connect();
        time.run_until(time.now() + 10ms);
        BOOST_REQUIRE(accepted);
        BOOST_TEST(client_heard == "connected ");
        client_heard.clear();
    }

    std::shared_ptr<stream> connect()
    {
        return net.connect(client, "10.0.0.1:2181", noting(client_heard));
    }

    stream::handlers noting(std::string& heard)
    {
        return {.connected = [&heard] { heard += "connected "; },
                .received =
                    [&heard](message&& m) {
                        heard += std::to_string(std::get<request>(m).number) + ' ';
                    },
                .ended = [&heard] { heard += "ended "; }};
    }

    void pass(std::chrono::nanoseconds t) { time.run_until(time.now() + t); }

    machine server{time, "server"};
    machine client{time, "client"};
    std::string server_heard;
    std::string client_heard;
    std::shared_ptr<stream> made;
    std::shared_ptr<stream> accepted;
};

} // namespace

BOOST_AUTO_TEST_SUITE(parts_of_the_world)

BOOST_AUTO_TEST_CASE(events_happen_in_the_order_of_their_times_and_then_of_their_plans)
{
    timeline time;
    std::string happened;
    const auto note = [&](char c) { return [&happened, c] { happened += c; }; };
    time.at(2s, note('c'));
    time.at(1s, note('a'));
    const auto cancelled = time.at(1s, note('x'));
    time.at(1s, note('b'));
    time.cancel(cancelled);
    time.run_until(90s);
    BOOST_TEST(happened == "abc");
    BOOST_TEST((time.now() == 90s));
    BOOST_TEST(!time.run_next());
}

BOOST_AUTO_TEST_CASE(an_event_that_is_larger_than_its_room_is_kept_elsewhere)
{
    timeline time;
    const auto shared = std::make_shared<int>(7);
    int seen = 0;
    const std::uint64_t large[20] = {1, 2, 3};
    time.at(1s, [shared, large, &seen] { seen = *shared + static_cast<int>(large[2]); });
    time.at(2s, [shared] {});
    BOOST_TEST(shared.use_count() == 3);
    time.run_until(1s);
    BOOST_TEST(seen == 10);
    BOOST_TEST(shared.use_count() == 2);
}

BOOST_AUTO_TEST_CASE(the_clocks_of_two_machines_drift)
{
    timeline time;
    machine exact{time, "exact"};
    machine fast{time, "fast", 200};
    machine slow{time, "slow", -50};
    const auto began = exact.clock();
    time.run_until(10'000s);
    BOOST_TEST(((exact.clock() - began) == 10'000s));
    BOOST_TEST(((fast.clock() - began) == 10'002s));
    BOOST_TEST(((slow.clock() - began) == 9'999s + 500ms));
    for (const auto* m : {&exact, &fast, &slow}) {
        const auto shown = m->clock() + 1234567us;
        const auto at = m->when(shown);
        time.run_until(at - 1ns);
        BOOST_TEST((m->clock() < shown));
        time.run_until(at);
        BOOST_TEST((m->clock() == shown));
    }
}

BOOST_AUTO_TEST_CASE(a_timer_of_an_hour_fires_at_once_and_at_its_virtual_instant)
{
    const auto real_start = real_clock::now();
    nothing_here w;
    machine m{w.time, "m"};
    machine fast{w.time, "fast", 1000};
    process p{m, w.net, random{1}};
    process q{fast, w.net, random{2}};
    instant fired{-1};
    instant fired_there{-1};
    const auto wait = [&w](process& in, instant& noted) {
        in.enter([&] {
            asio::co_spawn(
                in.context(),
                [&w, &noted]() -> asio::awaitable<void> {
                    asio::steady_timer timer{co_await asio::this_coro::executor};
                    timer.expires_after(1h);
                    co_await timer.async_wait(asio::use_awaitable);
                    noted = w.time.now();
                },
                asio::detached);
        });
    };
    w.time.run_until(1ms);
    wait(p, fired);
    wait(q, fired_there);
    w.time.run_until(2h);
    BOOST_TEST((fired == 1h + 1ms));
    // An hour of its clock, which is a thousandth fast.
    BOOST_TEST((fired_there > 3596s && fired_there < 3597s));
    BOOST_TEST(p.is_idle());
    BOOST_TEST((real_clock::now() - real_start < 5s));
}

BOOST_AUTO_TEST_CASE(a_process_that_is_stopped_finds_its_timers_due_when_it_goes_on)
{
    nothing_here w;
    machine m{w.time, "m"};
    process p{m, w.net, random{1}};
    std::vector<instant> fired;
    std::vector<asio::steady_timer> timers;
    p.enter([&] {
        for (const auto after : {1s, 2s, 60s}) {
            timers.emplace_back(p.context(), after).async_wait([&](const auto& ec) {
                BOOST_TEST(!ec);
                fired.push_back(w.time.now());
            });
        }
    });
    w.time.run_until(500ms);
    m.stop();
    w.time.run_until(10s);
    BOOST_TEST(fired.empty());
    m.go_on();
    BOOST_TEST((fired == std::vector<instant>{10s, 10s}));
    m.suspend();
    w.time.run_until(50s);
    m.go_on(); // 40 s, of which steady_clock knows nothing
    w.time.run_until(300s);
    BOOST_TEST((fired == std::vector<instant>{10s, 10s, 100s}));
    p.enter([&] { timers.clear(); });
}

BOOST_AUTO_TEST_CASE(a_timer_of_the_boot_clock_goes_on_while_the_machine_sleeps)
{
    using colock::detail::boot_clock;
    using colock::detail::boot_timer;
    nothing_here w;
    machine m{w.time, "m"};
    process p{m, w.net, random{1}};
    std::vector<instant> fired;
    std::unique_ptr<boot_timer> timer;
    const auto wait = [&](std::chrono::nanoseconds delay) {
        p.enter([&] {
            if (!timer) {
                timer = std::make_unique<boot_timer>(colock::zk::strand_type{
                    colock::zk::strand_base{asio::any_io_executor{p.context().get_executor()}}});
            }
            timer->expires_at(boot_clock::now() + delay);
            timer->async_wait([&](const boost::system::error_code& ec) {
                if (!ec) {
                    fired.push_back(w.time.now());
                }
            });
        });
    };
    wait(10s);
    w.time.run_until(5s);
    m.suspend();
    w.time.run_until(8s);
    m.go_on();
    w.time.run_until(50s);
    BOOST_TEST((fired == std::vector<instant>{10s}));
    wait(10s);
    m.suspend();
    w.time.run_until(90s);
    BOOST_TEST(fired.size() == 1U);
    m.go_on();
    BOOST_TEST((fired == std::vector<instant>{10s, 90s}));
    wait(10s);
    wait(5s);  // instead
    wait(20s); // instead
    w.time.run_until(200s);
    BOOST_TEST((fired == std::vector<instant>{10s, 90s, 110s}));
    wait(10s);
    p.enter([&] { timer->cancel(); });
    w.time.run_until(300s);
    BOOST_TEST(fired.size() == 3U);
    wait(-5s);
    BOOST_TEST(fired.size() == 4U);
    p.enter([&] { timer.reset(); }); // its descriptor is used again
    wait(10s);
    w.time.run_until(400s);
    BOOST_TEST((fired == std::vector<instant>{10s, 90s, 110s, 300s, 310s}));
    p.enter([&] { timer.reset(); });
}

BOOST_AUTO_TEST_CASE(a_process_that_is_killed_does_no_more)
{
    nothing_here w;
    machine m{w.time, "m"};
    bool ran = false;
    const auto kept = std::make_shared<int>();
    {
        process p{m, w.net, random{1}};
        p.enter([&] {
            asio::co_spawn(
                p.context(),
                [](std::shared_ptr<int>, bool& r) -> asio::awaitable<void> {
                    asio::steady_timer timer{co_await asio::this_coro::executor, 1s};
                    co_await timer.async_wait(asio::use_awaitable);
                    r = true;
                }(kept, ran),
                asio::detached);
        });
        BOOST_TEST(kept.use_count() == 2);
        p.kill();
        BOOST_TEST(kept.use_count() == 1);
        BOOST_TEST(!p.is_alive());
        w.time.run_until(10s);
    }
    BOOST_TEST(!ran);
    m.start();
    process next{m, w.net, random{2}};
    next.enter([&] { asio::post(next.context(), [&] { ran = true; }); });
    BOOST_TEST(ran);
}

BOOST_AUTO_TEST_CASE(a_process_that_goes_round_in_one_instant_is_found)
{
    nothing_here w;
    machine m{w.time, "m"};
    process p{m, w.net, random{1}};
    std::function<void()> again = [&] { asio::post(p.context(), again); };
    BOOST_CHECK_THROW(p.enter(again), std::runtime_error);
    p.kill();
}

BOOST_FIXTURE_TEST_CASE(what_is_sent_arrives_in_its_order, connected)
{
    for (int i = 0; i != 5; ++i) {
        made->send(request{.number = i});
        if (i == 2) {
            pass(10us);
        }
        accepted->send(request{.number = 100 + i});
    }
    pass(1ms);
    BOOST_TEST(server_heard == "0 1 2 3 4 ");
    BOOST_TEST(client_heard == "100 101 102 103 104 ");
}

BOOST_FIXTURE_TEST_CASE(a_cut_holds_one_direction_until_it_is_over, connected)
{
    net.cut(client, server);
    made->send(request{.number = 1});
    pass(1ms);
    made->send(request{.number = 2});
    accepted->send(request{.number = 3});
    pass(10s);
    BOOST_TEST(server_heard == "");
    BOOST_TEST(client_heard == "3 ");
    net.mend(client, server);
    made->send(request{.number = 4});
    pass(30s);
    BOOST_TEST(server_heard == "1 2 4 ");
}

BOOST_FIXTURE_TEST_CASE(the_end_comes_behind_all_that_was_sent, connected)
{
    made->send(request{.number = 1});
    made->shut_down();
    made->send(request{.number = 2}); // too late
    pass(1ms);
    BOOST_TEST(server_heard == "1 ended ");
    accepted->send(request{.number = 3}); // the other direction is open
    pass(1ms);
    BOOST_TEST(client_heard == "3 ");
    accepted.reset();
    pass(1ms);
    BOOST_TEST(client_heard == "3 ended ");
}

BOOST_FIXTURE_TEST_CASE(what_arrives_behind_a_close_is_answered_with_a_reset, connected)
{
    accepted.reset();
    made->send(request{.number = 1});
    pass(10ms);
    BOOST_TEST(client_heard == "ended ");
    BOOST_TEST(server_heard == "");
}

BOOST_FIXTURE_TEST_CASE(a_stopped_machine_accepts_and_keeps_what_arrives, connected)
{
    const auto first = accepted;
    server.stop();
    made->send(request{.number = 1});
    const auto second = connect();
    pass(1ms);
    BOOST_TEST(client_heard == "connected ");
    second->send(request{.number = 2});
    pass(60s);
    BOOST_TEST(server_heard == "");
    server.go_on();
    BOOST_TEST(server_heard == "1 2 ");
    BOOST_TEST(accepted != first);
}

BOOST_FIXTURE_TEST_CASE(a_killed_machine_resets_its_connections_and_refuses_new_ones, connected)
{
    made->send(request{.number = 1});
    server.kill();
    pass(1ms);
    BOOST_TEST(client_heard == "ended ");
    BOOST_TEST(server_heard == "");
    const auto refused = connect();
    pass(1ms);
    BOOST_TEST(client_heard == "ended ended ");
    server.start();
    const auto still_refused = connect(); // nobody listens
    pass(1ms);
    BOOST_TEST(client_heard == "ended ended ended ");
    const auto nowhere = net.connect(client, "10.9.9.9:2181", noting(client_heard));
    pass(1ms);
    BOOST_TEST(client_heard == "ended ended ended ended ");
}

BOOST_FIXTURE_TEST_CASE(a_reset_loses_what_is_under_way, connected)
{
    made->send(request{.number = 1});
    net.reset(server, client);
    pass(1ms);
    BOOST_TEST(server_heard == "ended ");
    BOOST_TEST(client_heard == "ended ");
    made->send(request{.number = 2});
    pass(1ms);
    BOOST_TEST(server_heard == "ended ");
}

BOOST_FIXTURE_TEST_CASE(a_connect_waits_while_its_link_is_cut, connected)
{
    const auto first = accepted;
    net.cut(server, client);
    const auto second = connect();
    pass(10s);
    BOOST_TEST(client_heard == "");
    net.mend_all();
    pass(30s);
    BOOST_TEST(client_heard == "connected ");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace world
