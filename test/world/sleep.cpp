// A machine sleeps while a program on it holds a lock.
#include <colock/client.hpp>
#include <colock/mutex.hpp>

#include "simulated.hpp"
#include "world/process.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>

namespace world {

using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

// A program that holds a lock, and waits for its loss.
struct holder {
    holder()
    {
        program.enter([this] {
            asio::co_spawn(program.context(), hold(), [](const std::exception_ptr& e) {
                if (e) {
                    std::rethrow_exception(e);
                }
            });
        });
        time.run_until(20s);
        BOOST_REQUIRE(lock);
        BOOST_REQUIRE(!told);
    }
    ~holder()
    {
        program.enter([this] { lock.reset(); });
    }

    asio::awaitable<void> hold()
    {
        const auto executor = co_await asio::this_coro::executor;
        colock::client zk{executor, {.hosts = servers.hosts()}};
        co_await zk.async_connect();
        colock::mutex m{zk, "/lock"};
        lock.emplace(co_await m.async_lock());
        auto [ec, reason] = co_await lock->async_wait_lost(asio::as_tuple(asio::use_awaitable));
        if (!ec) { // else the test is over
            told = time.now();
            why = reason;
        }
    }

    // When the lock is lost unless the servers are heard of before.
    instant bound()
    {
        return time.now() + program.look([this] { return lock->remaining(); });
    }

    // Nothing more comes to the program.
    void cut_off()
    {
        for (std::size_t i = 0; i != servers.size(); ++i) {
            net.cut(computer, servers.machine_of(i));
            net.cut(servers.machine_of(i), computer);
        }
    }

    void sleep_until(instant end)
    {
        computer.suspend();
        time.run_until(end);
        BOOST_TEST(!told);
        computer.go_on();
    }

    random chance{1};
    timeline time;
    network net{time, chance.branch()};
    ensemble servers{time, net, chance.branch()};
    machine computer{time, "computer"};
    process program{computer, net, chance.branch()};
    std::optional<colock::unique_lock> lock;
    std::optional<instant> told;
    colock::error_code why;
};

} // namespace

BOOST_AUTO_TEST_SUITE(world_of_sleep)

BOOST_AUTO_TEST_CASE(G5_who_wakes_behind_the_bound_is_told_at_once)
{
    for (const auto late : {1us, 1000us, 1'000'000us}) {
        for (const bool alone : {false, true}) {
            holder h;
            if (alone) {
                h.cut_off();
            }
            const auto end = h.bound() + late;
            h.sleep_until(end);
            BOOST_REQUIRE(h.told);
            BOOST_TEST((*h.told == end));
            BOOST_TEST((h.why == colock::errc::safe_until_passed));
        }
    }
}

BOOST_AUTO_TEST_CASE(G5_who_wakes_before_the_bound_is_told_at_the_bound)
{
    for (const auto early : {1us, 1000us, 1'000'000us}) {
        holder h;
        h.cut_off();
        const auto bound = h.bound();
        h.sleep_until(bound - early);
        BOOST_TEST(!h.told);
        h.time.run_until(bound + 1ms);
        BOOST_REQUIRE(h.told);
        BOOST_TEST((*h.told - bound).count() <= 1000);
        BOOST_TEST((h.why == colock::errc::safe_until_passed));
    }
}

BOOST_AUTO_TEST_CASE(a_short_sleep_costs_no_lock)
{
    holder h;
    for (int i = 0; i != 10; ++i) {
        h.sleep_until(h.time.now() + 500ms);
        h.time.run_until(h.time.now() + 5s);
        BOOST_TEST(!h.told);
    }
    BOOST_TEST((h.bound() > h.time.now()));
}

// The client asks who else is in the queue before it lets in one more of its own waiters. The answer is there when the machine
// wakes, and so is the end of the bound.
BOOST_AUTO_TEST_CASE(G5_news_from_before_a_sleep_let_nobody_in_on_a_lost_lock)
{
    holder h;
    std::optional<colock::client> zk;
    std::optional<colock::mutex> m;
    std::optional<colock::unique_lock> first, second, third;
    bool was_held = false;
    h.program.enter([&] {
        zk.emplace(h.program.context(), colock::client_options{.hosts = h.servers.hosts()});
        zk->async_connect(asio::detached);
        m.emplace(*zk, "/shared",
                  colock::lock_options{.max_local_grants = 1, .max_local_time = 1h});
        m->async_lock([&](colock::error_code, colock::unique_lock l) { first = std::move(l); });
    });
    h.time.run_until(h.time.now() + 1s);
    BOOST_REQUIRE(first);
    const auto bound = h.time.now() + h.program.look([&] { return first->remaining(); });
    h.program.enter([&] {
        m->async_lock([&](colock::error_code, colock::unique_lock l) { second = std::move(l); });
        m->async_lock([&](colock::error_code, colock::unique_lock l) {
            was_held = static_cast<bool>(l);
            third = std::move(l);
        });
        first.reset();
    });
    h.time.run_until(h.time.now() + 1us);
    BOOST_REQUIRE(second);
    h.program.enter([&] { second.reset(); });
    h.time.run_until(h.time.now() + 1us);
    BOOST_REQUIRE(!third); // it waits for the answer
    h.computer.suspend();
    h.time.run_until(bound + 1ms);
    h.computer.go_on();
    h.time.run_until(h.time.now() + 10s);
    BOOST_REQUIRE(third);
    BOOST_TEST(was_held);
    h.program.enter([&] {
        third.reset();
        m.reset();
        zk.reset();
    });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace world
