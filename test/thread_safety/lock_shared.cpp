// Locks of one client that runs on all threads of a pool, in calm. Meant for the thread sanitizer. See
// client_shared.cpp for what else a client does, and lock_shared_faults.cpp for storms.
#include <colock/colock.hpp>
#include <support/get.hpp>
#include <support/run.hpp>
#include <support/wait_until.hpp>
#include <support/zookeeper_server.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test::lock_shared_test {

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr int threads = 4;

// Lines come up on all threads. The log gets them one at a time, and those about one lock in their order.
class ordered_log {
public:
    explicit ordered_log(std::atomic<int>& faults) : faults_{faults} {}

    void operator()(std::string_view line)
    {
        faults_ += called_.exchange(true) ? 1 : 0;
        if (line.starts_with(granted)) {
            const auto path = line.substr(granted.size());
            faults_ += held_.emplace(path.substr(0, path.find_first_of(" ;"))).second ? 0 : 1;
        } else if (line.starts_with(released) || line.starts_with(handed)) {
            const auto path = line.substr(line.find('/'));
            faults_ +=
                held_.erase(std::string{path.substr(0, path.find_first_of(" ;"))}) == 1 ? 0 : 1;
            ++ends_;
        }
        called_ = false;
    }

    [[nodiscard]] int ends() const { return ends_; }

private:
    static constexpr std::string_view granted = "granted ", released = "released ",
                                      handed = "handed ";
    std::atomic<int>& faults_;
    std::atomic<bool> called_{false};
    std::set<std::string> held_;
    std::atomic<int> ends_{0};
};

struct pooled_client {
    colock::test::zookeeper_server server;
    std::atomic<int> faults{0}; // seen in the pool's threads, where Boost.Test cannot be told
    ordered_log log{faults};
    asio::thread_pool pool{threads};
    std::optional<colock::client> client;

    pooled_client()
    {
        client.emplace(pool,
                       colock::client_options{
                           .hosts = server.connect_string(),
                           .log = [this](colock::log_level, std::string_view line) { log(line); },
                           .log_threshold = colock::log_level::debug});
        get(client->async_connect(asio::use_future));
    }

    // Runs so many coroutines on the pool at once, to their ends.
    template <class Body>
    void all(int count, Body body)
    {
        std::vector<std::future<void>> running;
        for (int i = 0; i != count; ++i) {
            running.push_back(asio::co_spawn(pool, body(i), asio::use_future));
        }
        for (auto& r : running) {
            get(std::move(r));
        }
    }

    void check_nothing_left()
    {
        get(client->async_close(asio::use_future));
        BOOST_TEST(faults == 0);
        BOOST_TEST(client->stats().in_flight == 0u);
        BOOST_TEST(client->stats().contenders == 0u);
        BOOST_TEST(server.sessions().empty());
        BOOST_TEST(server.watch_count() == 0);
    }
};

BOOST_FIXTURE_TEST_SUITE(lock_shared, pooled_client)

// The counters are plain integers: what one holder writes the next one sees, without any other means.
BOOST_AUTO_TEST_CASE(G1_locks_order_what_their_holders_do)
{
    constexpr int locks = 3;
    long counters[locks] = {};
    const int turns = colock::test::repetitions(10);
    all(64, [&](int i) -> asio::awaitable<void> {
        colock::mutex m{*client, "/locks/" + std::to_string(i % locks)};
        for (int turn = 0; turn != turns; ++turn) {
            auto held = co_await m.async_lock();
            ++counters[i % locks];
            if ((i + turn) % 2 != 0) {
                co_await held.async_unlock();
            } // else the destructor releases it
        }
    });
    BOOST_TEST(counters[0] + counters[1] + counters[2] == 64 * turns);
    check_nothing_left();
    BOOST_TEST(log.ends() == 64 * turns);
}

BOOST_AUTO_TEST_CASE(G3_G6_cancellations_and_destructors_race_with_grants)
{
    std::atomic<int> holders{0};
    std::atomic<int> granted{0};
    std::atomic<int> aborted{0};
    const int rounds = colock::test::repetitions(10);
    all(32, [&](int i) -> asio::awaitable<void> {
        colock::mutex m{*client, "/locks/contended"};
        for (int round = 0; round != rounds; ++round) {
            // A slot and its signal belong to one strand, the user's.
            auto strand = asio::make_strand(pool);
            auto signal = std::make_shared<asio::cancellation_signal>();
            asio::steady_timer soon{strand,
                                    std::chrono::microseconds{(i * 37 + round * 101) % 4000}};
            soon.async_wait(
                [signal](colock::error_code) { signal->emit(asio::cancellation_type::terminal); });
            std::promise<void> ended;
            auto wait = ended.get_future();
            asio::post(strand, [this, &m, &holders, &granted, &aborted, signal, strand, &ended] {
                m.async_lock(asio::bind_executor(
                    strand, asio::bind_cancellation_slot(
                                signal->slot(),
                                [&, signal](colock::error_code ec, colock::unique_lock held) {
                                    if (ec) {
                                        ++(ec == asio::error::operation_aborted ? aborted : faults);
                                    } else {
                                        faults += ++holders != 1 ? 1 : 0;
                                        ++granted;
                                        --holders;
                                    }
                                    {
                                        const auto released = std::move(held);
                                    }
                                    ended.set_value();
                                })));
            });
            while (wait.wait_for(0s) != std::future_status::ready) {
                co_await colock::test::pause(1ms);
            }
        }
    });
    BOOST_TEST(granted + aborted == 32 * rounds);
    BOOST_TEST(holders == 0);
    BOOST_TEST(colock::test::wait_until([&] { return client->stats().contenders == 0; }, 60s));
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G6_the_client_is_destroyed_while_all_threads_use_locks)
{
    std::atomic<int> ended{0};
    std::vector<colock::mutex> mutexes;
    for (int i = 0; i != 64; ++i) {
        mutexes.emplace_back(*client, "/locks/doomed" + std::to_string(i % 4));
    }
    for (auto& m : mutexes) {
        asio::co_spawn(
            pool,
            [&m, &ended]() -> asio::awaitable<void> {
                for (;;) {
                    const auto [ec, held] = co_await m.async_lock(no_throw);
                    if (ec) {
                        break;
                    }
                }
                ++ended;
            },
            asio::detached);
    }
    BOOST_REQUIRE(
        colock::test::wait_until([&] { return client->stats().locks_granted > 20; }, 60s));
    client.reset();
    pool.join();
    BOOST_TEST(ended == 64);
    BOOST_TEST(colock::test::wait_until([&] { return server.sessions().empty(); }, 60s));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace

} // namespace colock::test::lock_shared_test
