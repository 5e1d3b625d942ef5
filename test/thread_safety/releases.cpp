// What a release promises, whichever thread it comes from: the lock is free afterwards, for a try and for those who wait, and
// no node stays. Meant for the thread sanitizer.
#include <colock/colock.hpp>
#include <support/get.hpp>
#include <support/run.hpp>
#include <support/wait_until.hpp>
#include <support/zookeeper_server.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace colock::test::releases_test {

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

// A client of a context that one thread runs.
struct client_thread {
    colock::test::zookeeper_server server;
    asio::io_context io;
    asio::executor_work_guard<asio::io_context::executor_type> busy = asio::make_work_guard(io);
    std::optional<colock::client> zk;
    std::thread thread{[this] { io.run(); }};

    client_thread()
    {
        zk.emplace(io, colock::client_options{.hosts = server.connect_string(),
                                              .session_timeout = 40s,
                                              .histograms = true}); // which count those who wait
        get(zk->async_connect(asio::use_future));
    }
    ~client_thread()
    {
        zk.reset();
        busy.reset();
        io.stop();
        thread.join();
    }

    unique_lock lock(colock::mutex& m) { return get(m.async_lock(asio::use_future)); }
    bool try_lock(colock::mutex& m)
    {
        return static_cast<bool>(get(m.async_try_lock(asio::use_future)));
    }
    template <class Function>
    void on_the_thread(Function function)
    {
        get(asio::post(io, asio::use_future(function)));
    }
};

BOOST_FIXTURE_TEST_SUITE(releases, client_thread)

BOOST_AUTO_TEST_CASE(a_try_after_a_release_in_the_same_thread_finds_the_lock_free)
{
    colock::mutex m{*zk, "/locks/free"};
    for (int i = 0; i != 50; ++i) {
        lock(m) = {};
        BOOST_TEST(try_lock(m)); // here, where the client does not run
    }
    std::promise<int> ended;
    int granted = 0;
    std::function<void(int)> go_on = [&](int left) {
        if (left == 0) {
            ended.set_value(granted);
            return;
        }
        m.async_lock([&, left](error_code ec, unique_lock held) {
            granted += ec ? 0 : 1;
            held = {};
            m.async_try_lock([&, left](error_code failed, unique_lock tried) {
                granted += !failed && tried ? 1 : 0;
                tried = {};
                go_on(left - 1);
            });
        });
    };
    on_the_thread([&] { go_on(50); });
    BOOST_TEST(get(ended.get_future()) == 100);
}

BOOST_AUTO_TEST_CASE(guards_are_destroyed_on_eight_other_threads)
{
    constexpr int threads = 8;
    constexpr int turns = 50;
    std::atomic<int> inside{0};
    std::atomic<int> overlaps{0};
    std::vector<std::thread> users;
    for (int i = 0; i != threads; ++i) {
        users.emplace_back([&, i] {
            colock::mutex mine{*zk, "/locks/shared" + std::to_string(i % 2)};
            for (int turn = 0; turn != turns; ++turn) {
                auto held = mine.async_lock(asio::use_future).get();
                if (i % 2 == 0) {
                    overlaps += inside.fetch_add(1);
                    --inside;
                }
                held = {};
            }
        });
    }
    for (auto& each : users) {
        each.join();
    }
    BOOST_TEST(overlaps == 0);
    BOOST_TEST(zk->stats().locks_granted == static_cast<unsigned>(threads * turns));
    BOOST_TEST(colock::test::wait_until([&] { return zk->stats().contenders == 0; }, 60s));
    get(zk->async_close(asio::use_future));
    BOOST_TEST(server.sessions().empty());
}

// The client's thread does something else for as long as it takes.
BOOST_AUTO_TEST_CASE(a_hand_off_does_not_wait_for_a_busy_client)
{
    constexpr int waiters = 100;
    colock::mutex m{*zk, "/locks/busy"};
    auto first = lock(m);
    asio::thread_pool users{2};
    std::atomic<int> granted{0};
    std::promise<void> all;
    for (int i = 0; i != waiters; ++i) {
        m.async_lock(asio::bind_executor(users.get_executor(), [&](error_code ec, unique_lock) {
            if (!ec && ++granted == waiters) {
                all.set_value();
            }
        }));
    }
    BOOST_REQUIRE(
        colock::test::wait_until([&] { return zk->stats().acquisitions.waiting == waiters; }, 60s));
    // Then it is known that no other client waits: else a client hands the lock off within limits only.
    static_cast<void>(get(zk->async_exists("/", asio::use_future)));
    std::promise<void> stopped, go_on;
    asio::post(io, [&] {
        stopped.set_value();
        go_on.get_future().wait();
    });
    stopped.get_future().wait();
    first = {};
    BOOST_TEST((all.get_future().wait_for(60s) == std::future_status::ready));
    go_on.set_value();
    users.join();
    BOOST_TEST(granted == waiters);
    static_cast<void>(
        get(zk->async_exists("/", asio::use_future))); // the client's thread has left this function
}

// What was queued for the client's thread is lost with its context: then the session ends, and the nodes with it.
BOOST_AUTO_TEST_CASE(a_context_that_ends_with_releases_queued_leaves_no_node)
{
    constexpr int locks = 32;
    std::optional<asio::io_context> other_io{std::in_place};
    const auto is_held = [&](int i) {
        colock::mutex m{*zk, "/locks/ended" + std::to_string(i)};
        return !try_lock(m);
    };
    {
        const auto work = asio::make_work_guard(*other_io);
        std::thread runs{[&] { other_io->run(); }};
        colock::client other{*other_io, {.hosts = server.connect_string(), .session_timeout = 4s}};
        get(other.async_connect(asio::use_future));
        std::vector<unique_lock> held;
        for (int i = 0; i != locks; ++i) {
            colock::mutex m{other, "/locks/ended" + std::to_string(i)};
            held.push_back(get(m.async_lock(asio::use_future)));
        }
        BOOST_TEST(is_held(0));
        BOOST_TEST(is_held(locks - 1));
        other_io->stop();
        runs.join();
        held.clear();
    }
    other_io.reset();
    for (int i = 0; i != locks; ++i) {
        colock::mutex m{*zk, "/locks/ended" + std::to_string(i)};
        BOOST_TEST(static_cast<bool>(lock(m)));
    }
    // One that the server hears from at this moment is between two of its lists, and may be missing.
    BOOST_TEST(colock::test::wait_until([&] { return server.sessions().size() == 1U; }, 10s));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace

} // namespace colock::test::releases_test
