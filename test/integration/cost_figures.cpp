// What the heap is asked for: by a cycle, by a hand-over, by one who waits. Prints the figures.
#include <support/allocation_count.hpp>
#include <support/lock_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace colock;
using namespace colock::test;

namespace {

// Never pings within a test.
const client_options quiet{.session_timeout = 40s};

// Takes its turns, one after the other; each handler is a pointer.
class taker {
public:
    taker(client& c, const std::string& path, lock_options o) : mutex_{c, path, std::move(o)} {}

    void start(int turns)
    {
        left_ = turns;
        lock();
    }
    [[nodiscard]] bool done() const { return left_ == 0; }

private:
    void lock()
    {
        mutex_.async_lock([this](error_code ec, unique_lock held) {
            BOOST_REQUIRE(!ec);
            held_ = std::move(held);
            held_.async_unlock([this](error_code failed) {
                BOOST_REQUIRE(!failed);
                if (--left_ != 0) {
                    lock();
                }
            });
        });
    }

    mutex mutex_;
    int left_ = 0;
    unique_lock held_;
};

struct costs {
    double allocations;
    double bytes;
};

using taker_list = std::vector<std::unique_ptr<taker>>;

struct cost_scene : lock_scene {
    // Each with a session of its own.
    costs of_a_turn_of_clients(int number, int turns)
    {
        taker_list all;
        for (int i = 0; i != number; ++i) {
            all.push_back(std::make_unique<taker>(connect(quiet), directory, lock_options{}));
        }
        return of_a_turn(all, turns);
    }

    // Of a turn, after as many that warm up what recycles memory. The least of several times: on a busy machine answers come one
    // by one that come together elsewhere.
    costs of_a_turn(taker_list& takers, int turns)
    {
        const auto take = [&] {
            for (auto& t : takers) {
                t->start(turns);
            }
            // Not by a function that sets a timer.
            while (!std::ranges::all_of(takers, [](const auto& t) { return t->done(); })) {
                io.restart();
                io.run_one();
            }
        };
        take();
        const auto all = static_cast<double>(takers.size()) * turns;
        costs least{std::numeric_limits<double>::max(), 0};
        for (int times = 0; times != 10; ++times) {
            const allocation_count count;
            take();
            if (const auto calls = double(count.calls()) / all; calls < least.allocations) {
                least = {calls, double(count.bytes()) / all};
            }
        }
        return least;
    }

    // By each of many locks that are used once, and whose objects have gone since.
    double kept_of_a_lock_that_has_gone(client_options options)
    {
        constexpr int number = 1000;
        auto& c = connect(std::move(options));
        const auto before = heap_in_use();
        for (int i = 0; i != number; ++i) {
            mutex m{c, directory + "/" + std::to_string(i)};
            outcome<unique_lock> o;
            m.async_lock(o.handler());
            auto held = value_of(io, o);
            BOOST_TEST_REQUIRE(unlock(held) == error_code{});
        }
        return (double(heap_in_use()) - double(before)) / number;
    }

    static void print(const char* what, costs c)
    {
        std::cout << "figure: " << what << ": " << c.allocations << " allocations, " << c.bytes
                  << " bytes\n";
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(cost_figures, cost_scene)

BOOST_AUTO_TEST_CASE(a_cycle_on_the_server)
{
    const auto c = of_a_turn_of_clients(1, 500);
    print("lock + unlock", c);
    BOOST_TEST(c.allocations <= 50);
    BOOST_TEST(c.bytes <= 3350);
}

BOOST_AUTO_TEST_CASE(a_hand_over_between_clients)
{
    const auto c = of_a_turn_of_clients(8, 100);
    print("a hand-over among 8 clients", c);
    BOOST_TEST(c.allocations <= 225);
    BOOST_TEST(c.bytes <= 14500);
}

BOOST_AUTO_TEST_CASE(a_hand_over_within_a_client)
{
    auto& one = connect(quiet);
    taker_list all;
    for (int i = 0; i != 8; ++i) {
        all.push_back(std::make_unique<taker>(
            one, directory, lock_options{.max_local_grants = 1'000'000, .max_local_time = 1h}));
    }
    const auto c = of_a_turn(all, 10'000);
    print("a hand-over among 8 waiters of one client", c);
    BOOST_TEST(c.allocations <= 1.01);
    BOOST_TEST(c.bytes <= 65);
}

BOOST_AUTO_TEST_CASE(a_waiter_with_a_node_of_its_own)
{
    constexpr std::size_t waiters = 1000;
    auto& c = connect(quiet);
    auto held = hold(c);
    mutex m{c, directory, {.max_local_grants = 0}};
    const auto all_wait = [&](std::size_t number) {
        return until([&] { return queue().size() == number && c.stats().in_flight == 0; });
    };
    const auto before = heap_in_use();
    for (std::size_t i = 0; i != waiters; ++i) {
        m.async_lock([](const error_code&, const unique_lock&) {}); // until the client is closed
    }
    BOOST_TEST_REQUIRE(all_wait(waiters + 1));
    const auto each = double(heap_in_use() - before) / waiters;
    std::cout << "figure: " << waiters << " waiters with nodes of their own: " << each
              << " bytes each\n";
    BOOST_TEST(each <= 3010);
}

// The client comes back to a waiter after five seconds. Until then it shall not keep the memory of a lock that has gone.
BOOST_AUTO_TEST_CASE(a_log_keeps_little_of_locks_that_have_gone)
{
    auto with_log = quiet;
    with_log.log = [](log_level, std::string_view) {};
    const auto without = kept_of_a_lock_that_has_gone(quiet);
    const auto more = kept_of_a_lock_that_has_gone(with_log) - without;
    std::cout << "figure: a lock that has gone: " << without << " bytes, " << more
              << " bytes more with a log\n";
    BOOST_TEST(more <= 150);
}

BOOST_AUTO_TEST_SUITE_END()
