// What a mutex costs: requests, wake-ups (G7), round trips. Prints the figures.
#include <support/figures.hpp>
#include <support/lock_scene.hpp>
#include <support/requests_of.hpp>
#include <support/sanitizers.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::mutex_figures_test {

namespace {

using clock = std::chrono::steady_clock;

double median(std::vector<double> values)
{
    return quantile(std::move(values), 0.5);
}

// Never pings within a test.
const client_options quiet{.session_timeout = 40s};

// A client that takes its turns, one after the other, without waiting in between.
class taker {
public:
    taker(client& c, const std::string& path, int turns, int& holders)
        : mutex_{c, path}, left_{turns}, holders_{holders}
    {
        lock();
    }

    [[nodiscard]] bool done() const { return left_ == 0; }

private:
    void lock()
    {
        mutex_.async_lock([this](error_code ec, unique_lock held) {
            BOOST_REQUIRE(!ec);
            BOOST_REQUIRE(++holders_ == 1);
            held_ = std::move(held);
            --holders_;
            held_.async_unlock([this](error_code failed) {
                BOOST_REQUIRE(!failed);
                if (--left_ != 0) {
                    lock();
                }
            });
        });
    }

    mutex mutex_;
    int left_;
    int& holders_;
    unique_lock held_;
};

// All clients take their turns; returns how long that took.
clock::duration take_turns(lock_scene& s, std::vector<client*> clients, int turns)
{
    int holders = 0;
    const auto begin = clock::now();
    std::list<taker> takers;
    for (auto* c : clients) {
        takers.emplace_back(*c, s.directory, turns, holders);
    }
    run_until(
        s.io, [&] { return std::ranges::all_of(takers, &taker::done); }, 120s);
    return clock::now() - begin;
}

} // namespace

BOOST_AUTO_TEST_SUITE(mutex_figures)

// Whoever made the directory.
BOOST_AUTO_TEST_CASE(an_uncontended_lock_and_unlock_is_three_requests)
{
    for (const std::string data : {"", "theirs"}) {
        lock_scene s;
        tcp_proxy proxy{s.server.connect_string()};
        auto& c = s.connect_through(proxy, quiet);
        s.admin.create(s.directory, data);
        constexpr int cycles = 100;
        const auto received = s.server.packets_received();
        const auto requests = requests_of(c);
        const auto lists = proxy.requests(any_get_children());
        const auto removals = proxy.requests(opcode::remove);
        for (int i = 0; i != cycles; ++i) {
            auto held = s.hold(c);
            BOOST_REQUIRE(s.unlock(held) == error_code{});
        }
        BOOST_TEST(s.server.packets_received() - received == 3 * cycles);
        BOOST_TEST(requests_of(c) - requests == 3U * cycles);
        BOOST_TEST(proxy.requests(any_get_children()) - lists == std::size_t{cycles});
        BOOST_TEST(proxy.requests(opcode::remove) - removals == std::size_t{cycles});
        std::cout << "figure: uncontended: "
                  << static_cast<double>(s.server.packets_received() - received) / cycles
                  << " requests\n";

        // Held for longer: one more, for the watch that tells of the loss. It goes with the node.
        auto held = s.hold(c);
        BOOST_TEST(s.wait_for_watches(c, 1));
        BOOST_TEST(s.unlock(held) == error_code{});
        BOOST_TEST(requests_of(c) - requests == 3U * cycles + 4U);
        BOOST_TEST(s.admin.get(s.directory) == data);
        s.check_nothing_left();
    }
}

BOOST_AUTO_TEST_CASE(a_contended_hand_over_is_seven_requests_at_most)
{
    lock_scene s;
    std::vector<client*> clients;
    for (int i = 0; i != 8; ++i) {
        clients.push_back(&s.connect(quiet));
    }
    s.admin.create(s.directory);
    constexpr int turns = 50;
    const auto received = s.server.packets_received();
    take_turns(s, clients, turns);
    const auto a_turn = static_cast<double>(s.server.packets_received() - received) / (8 * turns);
    std::cout << "figure: contended by 8 clients: " << a_turn << " requests a hand-over\n";
    BOOST_TEST(a_turn <= 7.0);
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G7_a_release_wakes_two_clients_at_most_with_2_waiters_or_200)
{
    for (const std::size_t waiters : {std::size_t{2}, std::size_t{200}}) {
        lock_scene s;
        std::vector<client*> clients;
        for (std::size_t i = 0; i != waiters + 1; ++i) {
            clients.push_back(&s.connect());
        }
        auto held = s.hold(*clients.front());
        std::vector<outcome<unique_lock>> waiting;
        for (std::size_t i = 1; i != clients.size(); ++i) {
            waiting.push_back(s.start_lock(*clients[i])); // in the order of their numbers
            BOOST_REQUIRE(s.until([&] { return clients[i]->stats().replies >= 4; }));
        }
        const auto settled = [&] {
            return std::ranges::all_of(clients,
                                       [](const client* c) { return c->stats().in_flight == 0; });
        };
        std::size_t most = 0;
        std::size_t woken_in_all = 0;
        const auto releases = std::min<std::size_t>(waiters, 20);
        for (std::size_t turn = 0; turn != releases; ++turn) {
            BOOST_REQUIRE(s.until(settled));
            std::vector<std::uint64_t> before;
            for (const auto* c : clients) {
                before.push_back(c->stats().watch_events);
            }
            BOOST_REQUIRE(s.unlock(held) == error_code{});
            held = value_of(s.io, waiting[turn]);
            BOOST_REQUIRE(s.until(settled));
            go_on(s.io, 5ms); // for those that should not have been woken
            std::size_t woken = 0;
            for (std::size_t i = 0; i != clients.size(); ++i) {
                woken += static_cast<std::size_t>(i != turn &&
                                                  clients[i]->stats().watch_events != before[i]);
            }
            most = std::max(most, woken);
            woken_in_all += woken;
        }
        std::cout << "figure: a release with " << waiters << " waiters wakes " << most
                  << " clients at most, "
                  << static_cast<double>(woken_in_all) / static_cast<double>(releases)
                  << " on average\n";
        BOOST_TEST(most <= 2U);
    }
}

// The delay of the proxy, and more on a machine that is too busy for its timers: then what a read takes is
// the measure, for what counts is the number of round trips.
double round_trip(double read)
{
    return read < 11.0 ? 10.0 : read;
}

double time_to_read(lock_scene& s, client& c)
{
    const auto begin = clock::now();
    outcome<get_result> read;
    c.async_get(s.directory, read.handler());
    BOOST_REQUIRE(code_of(s.io, read) == error_code{});
    return milliseconds(clock::now() - begin);
}

BOOST_AUTO_TEST_CASE(round_trips_at_ten_milliseconds)
{
    lock_scene s;
    tcp_proxy proxy{s.server.connect_string()};
    auto& c = s.connect_through(proxy, quiet);
    s.admin.create(s.directory);
    proxy.set_delay(5ms);

    const bool fast = best_of_rounds([&] {
        std::vector<double> reads;
        std::vector<double> locks;
        std::vector<double> cycles;
        for (int i = 0; i != 60; ++i) {
            reads.push_back(time_to_read(s, c));

            const auto begin = clock::now();
            auto held = s.hold(c);
            locks.push_back(milliseconds(clock::now() - begin));
            BOOST_REQUIRE(s.unlock(held) == error_code{});
            cycles.push_back(milliseconds(clock::now() - begin));
        }
        const auto lock = median(locks) / round_trip(median(reads));
        const auto cycle = median(cycles) / round_trip(median(reads));
        std::cout << "figure: at 10 ms round trip, medians: read " << median(reads) << " ms, lock "
                  << median(locks) << " ms (" << lock << " round trips), lock + unlock "
                  << median(cycles) << " ms (" << cycle << " round trips)\n";
        // Without optimisation the client's own part is larger: it counts trips there, not time.
        return optimized ? lock <= 1.15 && cycle <= 2.25 : lock < 1.5 && cycle < 2.5;
    });
    BOOST_TEST(fast);
    proxy.set_delay(0ms);
    s.check_nothing_left();
}

// Eight clients of one process; the bench measures processes.
BOOST_AUTO_TEST_CASE(hand_overs_at_ten_milliseconds)
{
    lock_scene s;
    tcp_proxy proxy{s.server.connect_string()};
    std::vector<client*> clients;
    for (int i = 0; i != 8; ++i) {
        clients.push_back(&s.connect_through(proxy, quiet));
    }
    s.admin.create(s.directory);
    proxy.set_delay(5ms);
    constexpr int turns = 15;
    const bool fast = best_of_rounds([&] {
        std::vector<double> reads;
        const auto read_some = [&] {
            for (int i = 0; i != 15; ++i) {
                reads.push_back(time_to_read(s, *clients.front()));
            }
        };
        read_some();
        const auto took = milliseconds(take_turns(s, clients, turns));
        read_some();
        const auto rate = 1000.0 * 8 * turns / took;
        std::cout << "figure: at 10 ms round trip, 8 contending clients: " << rate
                  << " hand-overs a second\n";
        // One round trip more for each would be 500. Without optimisation the clients' own part is larger.
        return rate >= (optimized ? 800.0 : 600.0) / round_trip(median(reads));
    });
    BOOST_TEST(fast);
    proxy.set_delay(0ms);
    s.check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::mutex_figures_test
