// A storm of acquisitions on several threads, with deadlines, cancellations, expired sessions and a client that is closed in the
// middle. What the observer hears has to add up exactly. It also starts operations itself.
#include <colock/colock.hpp>
#include <support/link.hpp>
#include <support/password_of.hpp>
#include <support/recorder.hpp>
#include <support/session_killer.hpp>
#include <support/wait_until.hpp>
#include <support/zookeeper_server.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace colock::test::observed_shared_test {

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr int threads = 4;
constexpr int users = 24;
constexpr auto token = asio::as_tuple(asio::deferred);

// One user, on a strand of its own, which also cancels its operations.
class user {
    auto slot()
    {
        return asio::as_tuple(asio::bind_cancellation_slot(signal_.slot(), asio::use_awaitable));
    }

public:
    user(client& zk, unsigned seed) : zk_{zk}, random_{seed} {}

    asio::awaitable<void> run(int turns)
    {
        for (int i = 0; i != turns; ++i) {
            switch (draw(8)) {
            case 0: co_await turn(mutex{zk_, "/storm/a"}.async_lock(slot())); break;
            case 1: co_await turn(mutex{zk_, "/storm/a"}.async_try_lock(slot())); break;
            case 2: co_await turn(mutex{zk_, "/storm/a"}.async_try_lock_for(soon(), slot())); break;
            case 3: co_await turn(shared_mutex{zk_, "/storm/rw"}.async_lock_shared(slot())); break;
            case 4:
                co_await turn(shared_mutex{zk_, "/storm/rw"}.async_try_lock_for(soon(), slot()));
                break;
            case 5:
                co_await turn(
                    semaphore{zk_, "/storm/s", 3}.async_try_acquire_for(2, soon(), slot()));
                break;
            case 6:
                co_await turn(
                    single_node_mutex{zk_, "/storm-one"}.async_try_lock_for(soon(), slot()));
                break;
            case 7: {
                multi_lock both{mutex{zk_, "/storm/a"}, mutex{zk_, "/storm/b"}};
                co_await turn(both.async_try_lock_for(soon(), slot()));
                break;
            }
            }
        }
    }

private:
    int draw(int n) { return std::uniform_int_distribution<>{0, n - 1}(random_); }
    std::chrono::microseconds soon() { return std::chrono::microseconds{draw(3000)}; }

    template <class Operation>
    asio::awaitable<void> turn(Operation operation)
    {
        const auto strand = co_await asio::this_coro::executor;
        asio::steady_timer timer{strand};
        if (draw(3) == 0) {
            timer.expires_after(soon());
            timer.async_wait([this, all = draw(2) == 0](error_code ec) {
                if (!ec) {
                    signal_.emit(all ? asio::cancellation_type::all
                                     : asio::cancellation_type::total);
                }
            });
        }
        auto [ec, guard] = co_await std::move(operation);
        timer.cancel();
        if (!ec && draw(2) == 0) {
            timer.expires_after(std::chrono::microseconds{draw(500)});
            co_await timer.async_wait(token);
        }
    } // the guard goes

    client& zk_;
    std::mt19937 random_;
    asio::cancellation_signal signal_;
};

void storm(unsigned seed, int turns)
{
    zookeeper_server server;
    const auto heard = std::make_shared<recorder>();
    std::optional<client> zk;
    std::atomic<int> started{0};
    {
        asio::thread_pool pool{threads};
        zk.emplace(pool, client_options{.hosts = server.connect_string(),
                                        .session_timeout = 4s,
                                        .observer = heard,
                                        .histograms = true});
        zk->async_connect(asio::use_future).get();
        // The observer takes a lock itself now and then.
        heard->also = [&] {
            thread_local bool within = false;
            if (!std::exchange(within, true)) {
                if (++started % 50 == 0) {
                    mutex{*zk, "/storm/a"}.async_try_lock_for(1ms, [](error_code, unique_lock) {});
                }
                within = false;
            }
        };
        std::vector<std::unique_ptr<user>> all;
        std::vector<std::future<void>> done;
        for (unsigned i = 0; i != users; ++i) {
            all.push_back(std::make_unique<user>(*zk, seed * 1000 + i));
            done.push_back(
                asio::co_spawn(asio::make_strand(pool), all.back()->run(turns), asio::use_future));
        }
        for (int i = 0; i != 2; ++i) {
            std::this_thread::sleep_for(150ms);
            try {
                static_cast<void>(
                    kill_session(server.connect_string(), zk->session_id(), password_of(*zk)));
            } catch (const std::exception&) { // the client may have no session just now
            }
        }
        // Before the client is closed there is something to add up, however busy the machine is.
        wait_until([&] { return heard->add_up().granted > 100; }, 60s);
        bool closed = false;
        for (auto& each : done) {
            if (each.wait_for(closed ? 60s : 3s) != std::future_status::ready) {
                closed = true; // what waits ends with the client
                zk->async_close(asio::use_future).get();
                BOOST_REQUIRE((each.wait_for(60s) == std::future_status::ready));
            }
            each.get();
        }
        BOOST_TEST(wait_until(
            [&] {
                const auto s = heard->add_up();
                return s.ended == s.begun && s.holds == s.granted;
            },
            60s));
        pool.stop();
        pool.join();
        heard->also = {};
    }
    const auto s = heard->add_up();
    const auto stats = zk->stats();
    const auto& a = stats.acquisitions;
    BOOST_TEST_MESSAGE("seed " << seed << ": " << s.begun << " begun, " << s.granted << " granted, "
                               << s.lost << " lost");
    BOOST_TEST(s.faults == 0);
    BOOST_TEST(s.granted > 100U);
    BOOST_TEST(s.ended == s.begun);
    BOOST_TEST(s.holds == s.granted);
    BOOST_TEST(a.begun == s.begun);
    BOOST_TEST(a.granted == s.granted);
    BOOST_TEST(a.waiting == 0U);
    BOOST_TEST(a.busy + a.timed_out + a.cancelled + a.failed + a.dropped == s.begun - s.granted);
    BOOST_TEST(stats.times.wait.count == s.granted);
    BOOST_TEST(stats.times.hold.count == s.holds);
    BOOST_TEST(stats.times.margin.count == s.holds);
    BOOST_TEST(stats.locks_granted == stats.locks_released + stats.locks_lost);
    const auto& l = stats.losses;
    BOOST_TEST(l.session_expired + l.node_deleted + l.safe_until_passed + l.client_closed ==
               stats.locks_lost);
    // The locks of the semaphore's queue are not told.
    BOOST_TEST(stats.locks_lost >= s.lost);
}

} // namespace

BOOST_AUTO_TEST_SUITE(observed_shared)

BOOST_AUTO_TEST_CASE(what_an_observer_hears_in_a_storm_adds_up)
{
    const char* const repeat = std::getenv("COLOCK_TEST_REPEAT");
    const int rounds = repeat != nullptr ? std::atoi(repeat) : 2;
    for (int i = 0; i != rounds; ++i) {
        storm(static_cast<unsigned>(i), 150);
    }
}

// The metric of what is held is a difference of these.
BOOST_AUTO_TEST_CASE(no_more_is_released_than_was_granted_in_any_look_at_the_counters)
{
    zookeeper_server server;
    asio::thread_pool pool{1};
    client zk{pool, {.hosts = server.connect_string(), .histograms = true}};
    zk.async_connect(asio::use_future).get();
    const mutex m{zk, "/counted"};
    std::atomic<bool> enough{false};
    const auto take_turns = [&]() -> asio::awaitable<void> {
        while (!enough) {
            const auto held = co_await mutex{m}.async_lock(asio::use_awaitable);
        }
    };
    std::vector<std::future<void>> done;
    for (int i = 0; i != 2; ++i) {
        done.push_back(asio::co_spawn(pool, take_turns(), asio::use_future));
    }
    int faults = 0;
    for (int i = 0; i != 1'000'000; ++i) {
        const auto s = zk.stats();
        faults += s.locks_released + s.locks_lost > s.locks_granted ? 1 : 0;
        faults += s.acquisitions.waiting > s.acquisitions.begun ? 1 : 0;
    }
    enough = true;
    for (auto& each : done) {
        each.get();
    }
    BOOST_TEST(faults == 0);
    zk.async_close(asio::use_future).get();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::observed_shared_test
