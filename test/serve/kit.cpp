// colock::testing::server: what a test does to it, and what a client of colock notices.
#include <colock/client.hpp>
#include <colock/mutex.hpp>
#include <colock/testing/server.hpp>
#include <support/print.hpp>
#include <support/run.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace colock::test {

using namespace std::chrono_literals;

namespace {

struct scene {
    testing::server server;
    asio::io_context io;
    client zk{io, options()};

    client_options options() const
    {
        client_options o;
        o.hosts = server.hosts();
        o.session_timeout = 5s;
        return o;
    }
    asio::awaitable<void> connected()
    {
        while (zk.state() != connection_state::connected) {
            co_await zk.async_wait_state_change(zk.state());
        }
    }
    void play(const std::function<asio::awaitable<void>(mutex&)>& body)
    {
        mutex m{zk, "/locks/m"};
        run(io,
            [](scene& s, mutex& lock,
               const std::function<asio::awaitable<void>(mutex&)>& what) -> asio::awaitable<void> {
                co_await s.zk.async_connect();
                co_await what(lock);
                co_await s.zk.async_close();
            }(*this, m, body));
    }
};

std::set<int> descriptors()
{
    std::set<int> all;
    for (const auto& each : std::filesystem::directory_iterator{"/proc/self/fd"}) {
        all.insert(std::stoi(each.path().filename().string()));
    }
    return all;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(served_kit, scene)

BOOST_AUTO_TEST_CASE(an_expired_session_loses_its_locks)
{
    play([this](mutex& m) -> asio::awaitable<void> {
        const auto held = co_await m.async_lock();
        BOOST_TEST(server.sessions().size() == 1U);
        BOOST_TEST(server.nodes("/locks/m").size() == 1U);
        server.expire(zk.session_id());
        BOOST_TEST(server.nodes("/locks/m").empty());
        const auto why = co_await held.async_wait_lost();
        BOOST_TEST((why == errc::session_expired), why.message());
        const auto again = co_await m.async_lock();
        BOOST_TEST(bool{again});
    });
}

BOOST_AUTO_TEST_CASE(a_cut_costs_no_lock)
{
    play([this](mutex& m) -> asio::awaitable<void> {
        const auto held = co_await m.async_lock();
        server.cut();
        co_await zk.async_wait_state_change(connection_state::connected);
        co_await connected();
        BOOST_TEST(!held.loss_reason());
    });
}

BOOST_AUTO_TEST_CASE(a_deleted_node_is_a_lost_lock)
{
    play([this](mutex& m) -> asio::awaitable<void> {
        const auto held = co_await m.async_lock();
        server.remove("/locks/m");
        BOOST_TEST(server.nodes("/locks").empty());
        const auto why = co_await held.async_wait_lost();
        BOOST_TEST((why == errc::node_deleted));
    });
}

BOOST_AUTO_TEST_CASE(a_silent_server_is_noticed_in_time)
{
    play([this](mutex& m) -> asio::awaitable<void> {
        const auto held = co_await m.async_lock();
        server.pause();
        const auto why = co_await held.async_wait_lost();
        BOOST_TEST((why == errc::safe_until_passed));
        server.resume();
        co_await connected();
    });
}

BOOST_AUTO_TEST_CASE(what_is_done_to_a_silent_server_happens_when_it_goes_on)
{
    play([this](mutex& m) -> asio::awaitable<void> {
        co_await zk.async_create("/other", "");
        const auto held = co_await m.async_lock();
        // At once: later the client watches the node, and hears first that it is deleted.
        server.pause();
        server.expire(zk.session_id());
        server.remove("/other");
        BOOST_TEST(server.sessions().size() == 1U);
        server.resume();
        BOOST_TEST(server.sessions().empty());
        BOOST_TEST(server.nodes("/").size() == 2U); // its own, and that of the locks
        const auto why = co_await held.async_wait_lost();
        BOOST_TEST((why == errc::session_expired), why.message());
    });
}

BOOST_AUTO_TEST_CASE(a_server_refuses_and_delays)
{
    play([this](mutex&) -> asio::awaitable<void> {
        server.delay(50ms);
        const auto begin = std::chrono::steady_clock::now();
        co_await zk.async_exists("/");
        BOOST_TEST((std::chrono::steady_clock::now() - begin >= 100ms));
        server.delay(0ms);
        server.refuse();
        server.cut();
        co_await zk.async_wait_state_change(connection_state::connected);
        const bool back = zk.state() == connection_state::connected;
        BOOST_TEST(!back);
        server.refuse(false);
        co_await connected();
    });
}

BOOST_AUTO_TEST_CASE(what_no_test_can_mean_is_refused)
{
    BOOST_CHECK_THROW((testing::server{{.least_session = 5s, .most_session = 1s}}),
                      std::invalid_argument);
    BOOST_CHECK_THROW((testing::server{{.least_session = 0s}}), std::invalid_argument);
    BOOST_CHECK_THROW(server.expire(zk.session_id()), std::invalid_argument); // it has none yet
    BOOST_CHECK_THROW(server.delay(-5ms), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(programs_that_the_test_starts_have_no_part_in_it)
{
    const auto before = descriptors();
    const testing::server another;
    client other{io, another.hosts()};
    run(io, other.async_connect(asio::use_awaitable));
    for (const int each : descriptors()) {
        if (const int flags = ::fcntl(each, F_GETFD); flags != -1 && !before.contains(each)) {
            BOOST_TEST((flags & FD_CLOEXEC) != 0, "descriptor " << each);
        }
    }
    run(io, other.async_close(asio::use_awaitable));
}

BOOST_AUTO_TEST_CASE(a_forked_child_leaves_it_alone)
{
    std::optional<testing::server> forked{std::in_place};
    client other{io, forked->hosts()};
    run(io, other.async_connect(asio::use_awaitable));
    const auto child = ::fork();
    if (child == 0) {
        ::alarm(30);
        forked.reset();
        ::_exit(0);
    }
    int status = -1;
    BOOST_TEST(::waitpid(child, &status, 0) == child);
    BOOST_TEST(status == 0);
    run(io, other.async_exists("/", asio::use_awaitable));
    BOOST_TEST(other.stats().connections == 1U);
    run(io, other.async_close(asio::use_awaitable));
}

BOOST_AUTO_TEST_CASE(its_thread_takes_no_signals)
{
    BOOST_TEST(server.sessions().empty()); // so it runs
    sigset_t one, before;
    ::sigemptyset(&one);
    ::sigaddset(&one, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &one, &before);
    ::kill(::getpid(), SIGUSR1);
    const timespec limit{30, 0};
    BOOST_TEST(::sigtimedwait(&one, nullptr, &limit) == SIGUSR1);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test
