// Eight programs contend for one mutex: what the simulated world costs, and that it is the same each time.
#include <colock/client.hpp>
#include <colock/mutex.hpp>

#include "simulated.hpp"
#include "world/process.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

namespace world {

using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

// Programs that take turns with one mutex for ever, and hold it for 100 ms each.
class contention {
    random chance_; // the first: the others draw from it

public:
    contention(std::uint64_t seed, std::size_t programs) : chance_{seed}
    {
        for (std::size_t i = 0; i != programs; ++i) {
            machines_.push_back(std::make_unique<machine>(
                time, "client" + std::to_string(i), static_cast<int>(chance_.between(-50, 50))));
            processes_.push_back(
                std::make_unique<process>(*machines_.back(), net, chance_.branch()));
            auto& in = *processes_.back();
            in.enter([&] {
                asio::co_spawn(in.context(), take_turns(i), [](const std::exception_ptr& e) {
                    if (e) {
                        std::rethrow_exception(e);
                    }
                });
            });
        }
    }

    // Of all that happened: in which order, and when.
    [[nodiscard]] std::uint64_t history() const noexcept { return history_; }

    timeline time;
    network net{time, chance_.branch()};
    ensemble servers{time, net, chance_.branch()};
    std::uint64_t turns = 0;
    bool held = false;

private:
    void note(std::uint64_t what)
    {
        for (const auto word : {what, static_cast<std::uint64_t>(time.now().count())}) {
            history_ = (history_ ^ word) * 0x100000001b3u;
        }
    }

    asio::awaitable<void> take_turns(std::size_t program)
    {
        const auto executor = co_await asio::this_coro::executor;
        colock::client zk{executor, {.hosts = servers.hosts()}};
        co_await zk.async_connect();
        colock::mutex m{zk, "/contended"};
        asio::steady_timer timer{executor};
        for (;;) {
            auto lock = co_await m.async_lock();
            BOOST_TEST(!held);
            held = true;
            ++turns;
            note(program);
            timer.expires_after(100ms);
            co_await timer.async_wait(asio::use_awaitable);
            held = false;
            co_await lock.async_unlock();
        }
    }

    std::uint64_t history_ = 0xcbf29ce484222325u;
    std::vector<std::unique_ptr<machine>> machines_;
    std::vector<std::unique_ptr<process>> processes_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(world_of_contention)

BOOST_AUTO_TEST_CASE(eight_programs_contend_for_a_thousand_seconds)
{
    contention w{1, 8};
    const auto start = std::chrono::steady_clock::now();
    const auto processor = std::clock();
    w.time.run_until(1000s);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const auto worked = static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC;
    std::printf("figure: %.0f simulated seconds a real second, %.0f a second of the processor; "
                "%.1f turns and %.0f events each\n",
                1000 / took.count(), 1000 / worked, static_cast<double>(w.turns) / 1000,
                static_cast<double>(w.time.happened()) / 1000);
    BOOST_TEST(w.turns > 9000U);
    BOOST_TEST(w.turns < 10000U);
}

BOOST_AUTO_TEST_CASE(a_seed_tells_the_same_story_twice)
{
    const auto history = [](std::uint64_t seed) {
        contention w{seed, 8};
        w.time.run_until(60s);
        BOOST_TEST(w.turns > 500U);
        return w.history();
    };
    const auto first = history(7);
    const auto other = history(8);
    BOOST_TEST(first == history(7));
    BOOST_TEST(first != other);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace world
