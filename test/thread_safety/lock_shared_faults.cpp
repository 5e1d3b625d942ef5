// Locks of clients that run on all threads of a pool, while connections break and sessions end, and guards that
// are looked at and dropped by other threads than those that got them. See lock_shared.cpp for the calm.
#include <support/lock_scene.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace colock::test::lock_shared_faults_test {

namespace {

constexpr std::size_t locks = 3;

struct pooled {
    explicit pooled(std::size_t number_of_clients, std::chrono::milliseconds session_timeout = 30s)
    {
        for (std::size_t i = 0; i != number_of_clients; ++i) {
            clients.emplace_back(pool, link_client({.hosts = proxy.connect_string(),
                                                    .session_timeout = session_timeout}));
            clients.back().async_connect(asio::use_future).get();
        }
    }

    client& of(int i) { return *std::next(clients.begin(), i % static_cast<int>(clients.size())); }
    [[nodiscard]] std::string path(int i) const
    {
        return directory + "/" + std::to_string(static_cast<std::size_t>(i) % locks);
    }

    // Runs so many coroutines to their ends, and disturbs them from this thread meanwhile, at least once. What
    // one of them throws is thrown when all have ended: they refer to what the caller owns.
    template <class Body, class Disturb>
    void run_disturbed(int count, Body body, std::chrono::milliseconds pause, Disturb disturb)
    {
        std::vector<std::future<void>> running;
        for (int i = 0; i != count; ++i) {
            running.push_back(asio::co_spawn(asio::make_strand(pool), body(i), asio::use_future));
        }
        disturb();
        for (auto& r : running) {
            while (r.wait_for(pause) != std::future_status::ready) {
                disturb();
            }
        }
        for (auto& r : running) {
            r.get();
        }
    }

    // Only when a lock was granted behind the last time: where a connection takes as long as a pause, as over TLS with
    // sanitizers, none would ever last long enough for a request.
    void cut()
    {
        std::uint64_t granted = 0;
        for (const auto& c : clients) {
            granted += c.stats().locks_granted;
        }
        if (granted >= enough_for_cut) {
            enough_for_cut = granted + 1;
            proxy.cut();
        }
    }

    void check_nothing_left()
    {
        BOOST_TEST(faults == 0);
        admin_session admin{common_server().connect_string()};
        BOOST_TEST(wait_until(
            [&] {
                return std::ranges::all_of(clients,
                                           [](const auto& c) { return c.stats().contenders == 0; });
            },
            long_enough));
        for (std::size_t i = 0; i != locks; ++i) {
            const auto lock = path(static_cast<int>(i));
            BOOST_TEST((!admin.exists(lock) || admin.children(lock).empty()));
        }
        for (auto& c : clients) {
            c.async_exists("/", asio::use_future).get(); // behind the last disturbance
            c.async_close(asio::use_future).get();
        }
        BOOST_TEST(wait_until([&] { return common_server().watch_count() == 0; }, long_enough));
    }

    asio::thread_pool pool{4};
    tcp_proxy proxy = link_proxy(common_server());
    const std::string directory = fresh_directory();
    std::list<client> clients;
    std::uint64_t enough_for_cut = 0;
    std::atomic<int> faults{0}; // seen in the pool's threads, where Boost.Test cannot be told
};

} // namespace

BOOST_AUTO_TEST_SUITE(lock_shared_faults)

// Plain integers: the thread sanitizer sees whether one holder's writes happen before the next one's.
BOOST_AUTO_TEST_CASE(G1_turns_over_connections_that_break)
{
    pooled p{2};
    long counters[locks] = {};
    const int turns = repetitions(12);
    const auto take_turns = [&](int i) -> asio::awaitable<void> {
        mutex m{p.of(i), p.path(i)};
        for (int turn = 0; turn != turns; ++turn) {
            auto held = co_await m.async_lock();
            ++counters[static_cast<std::size_t>(i) % locks];
            if ((i + turn) % 2 != 0) {
                co_await held.async_unlock();
            }
        }
    };
    p.run_disturbed(64, take_turns, 40ms, [&] { p.cut(); });
    BOOST_TEST(counters[0] + counters[1] + counters[2] == 64 * turns);
    for (const auto& c : p.clients) {
        BOOST_TEST(c.stats().sessions == 1U);
        BOOST_TEST(c.stats().locks_lost == 0U);
    }
    p.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G3_G6_time_limits_over_connections_that_break)
{
    using namespace asio::experimental::awaitable_operators;
    pooled p{2};
    std::atomic<int> taken{0};
    std::atomic<int> given_up{0};
    const int rounds = repetitions(12);
    const auto try_for_a_while = [&](int i) -> asio::awaitable<void> {
        std::minstd_rand random(static_cast<unsigned>(i) + 1);
        const auto here = co_await asio::this_coro::executor;
        mutex m{p.of(i), p.path(i)};
        for (int round = 0; round != rounds; ++round) {
            asio::steady_timer timer{here, std::chrono::microseconds{random() % 20'000}};
            const auto result = co_await (m.async_lock(asio::use_awaitable) ||
                                          timer.async_wait(asio::use_awaitable));
            ++(result.index() == 0 ? taken : given_up);
        }
    };
    p.run_disturbed(48, try_for_a_while, 40ms, [&] { p.cut(); });
    BOOST_TEST(taken + given_up == 48 * rounds);
    p.check_nothing_left();
}

// A session that ends under its holder: the next may be granted before that one knows, so what they do in
// between is no question of exclusion here. Who gets the guard hands it on to others.
BOOST_AUTO_TEST_CASE(G5_guards_are_read_by_other_threads_while_their_sessions_end)
{
    // The server may keep a connection open that takes a session over while it ends, and answer nothing on it. The client gives
    // such a server up after two thirds of the time-out.
    pooled p{2, 6s};
    std::atomic<int> seen_lost{0};
    std::atomic<int> turns_taken{0};
    std::atomic<bool> enough{false};
    const auto take_turns = [&](int i) -> asio::awaitable<void> {
        mutex m{p.of(i), p.path(i)};
        for (int turn = 0; !enough; ++turn) {
            auto [ec, got] = co_await m.async_lock(asio::as_tuple(asio::use_awaitable));
            if (ec == colock::condition::lock_lost) {
                continue; // it was lost before this coroutine went on
            }
            p.faults += ec ? 1 : 0;
            auto held = std::make_shared<unique_lock>(std::move(got));
            std::atomic<int> readers{0};
            for (int reader = 0; reader != 2; ++reader) {
                ++readers;
                asio::post(p.pool, [&p, &readers, look = held.get()] {
                    for (int n = 0; n != 50; ++n) {
                        const auto why = look->loss_reason();
                        p.faults += why && *look ? 1 : 0; // lost is final
                        p.faults += look->token().high() == 0 || look->node().empty() ? 1 : 0;
                        std::this_thread::yield();
                    }
                    --readers;
                });
            }
            const bool until_lost = turn % 4 == 0;
            while (readers != 0 || (until_lost && !held->loss_reason())) {
                co_await pause(1ms);
            }
            seen_lost += held->loss_reason() == errc::session_expired ? 1 : 0;
            ++turns_taken;
            asio::post(p.pool, [held = std::move(held)]() mutable { held.reset(); });
        }
    };
    const auto begun = std::chrono::steady_clock::now();
    // A session ends only when it has granted a lock: a client whose sessions all end at once pauses longer and longer. It is
    // ended again while the client has it still: the client may have taken it over before the end was read.
    struct ended_session {
        std::int64_t id = 0;
        std::uint64_t granted = 0; // by the client, until then
    };
    std::map<const client*, ended_session> ended;
    p.run_disturbed(24, take_turns, 30ms, [&] {
        for (const auto& c : p.clients) {
            const auto granted = c.stats().locks_granted;
            const auto id = c.session_id();
            auto& last = ended[&c];
            if (id != last.id && granted == last.granted) {
                continue;
            }
            try {
                static_cast<void>(
                    kill_session(common_server().connect_string(), id, password_of(c)));
                last = {id, granted};
            } catch (const std::exception&) { // the session ended a moment ago
            }
        }
        // A slow machine does less in that time.
        const auto took = std::chrono::steady_clock::now() - begun;
        if ((turns_taken > 200 && seen_lost > 20) || (took > 20s && seen_lost > 0) || took > 60s) {
            enough = true;
        }
    });
    BOOST_TEST(turns_taken > 0);
    BOOST_TEST(seen_lost > 0);
    p.check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::lock_shared_faults_test
