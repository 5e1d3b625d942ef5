// `colock serve`, the program, and colock through it: ZooKeeper's C client, with nothing in between.
#include <colock/client.hpp>
#include <colock/mutex.hpp>
#include <support/blocking_socket.hpp>
#include <support/run.hpp>
#include <support/sanitizers.hpp>
#include <support/wait_until.hpp>

#include "colock_process.hpp"
#include "served_program.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <list>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace colock::test {

using namespace std::chrono_literals;
using namespace boost::asio::experimental::awaitable_operators;

namespace {

client_options to(const served& s, std::chrono::milliseconds session_timeout = 10s)
{
    client_options o;
    o.hosts = s.address;
    o.session_timeout = session_timeout;
    return o;
}

} // namespace

BOOST_AUTO_TEST_SUITE(served_program)

BOOST_AUTO_TEST_CASE(it_serves_at_once_and_is_small)
{
    auto soonest = steady::duration::max();
    long resident = 0;
    for (int i = 0; i != 10; ++i) {
        const served s;
        BOOST_REQUIRE(s.address.starts_with("127.0.0.1:"));
        soonest = std::min(soonest, s.ready);
        resident = s.resident();
    }
    const auto ms = std::chrono::duration<double, std::milli>(soonest).count();
    std::cout << "colock serve: ready in " << ms << " ms, " << resident << " KiB in memory\n";
    if (!sanitized) {
        BOOST_TEST(ms <= 50);
        BOOST_TEST(resident <= 20 * 1024);
    }
}

BOOST_AUTO_TEST_CASE(its_status_is_that_of_a_signal)
{
    colock_process p{"", {"serve", "--port", "0", "--quiet"}};
    BOOST_REQUIRE(wait_until([&] { return !p.out().empty(); }, long_enough));
    p.process().send_signal(SIGTERM);
    BOOST_TEST(p.status() == 128 + SIGTERM);
    const auto help = run_colock("", {"serve", "--help"}).out;
    BOOST_TEST(has(help, "128+N"), help);
    BOOST_TEST(!has(help, "Done."), help);
}

BOOST_AUTO_TEST_CASE(the_limit_of_open_files_is_none_of_connections)
{
    colock_process p{
        "", {"-c", "ulimit -Sn 64; exec " COLOCK_PROGRAM " serve --port 0 --quiet"}, {}, "/bin/sh"};
    BOOST_REQUIRE(wait_until([&] { return has(p.out(), "\n"); }, long_enough));
    const auto address = parse_hosts(lines_of(p.out()).front()).front();
    std::list<blocking_socket> all;
    while (all.size() != 100) {
        all.emplace_back(address, after(long_enough));
    }
    all.back().send("ruok", after(long_enough));
    BOOST_TEST(all.back().receive(4, after(long_enough)) == "imok");
}

BOOST_AUTO_TEST_CASE(a_mutex_is_handed_over)
{
    const served s;
    asio::io_context io;
    client one{io, to(s)};
    client other{io, to(s)};
    std::vector<std::string> order;
    run(io, [&]() -> asio::awaitable<void> {
        co_await one.async_connect();
        co_await other.async_connect();
        mutex first{one, "/locks/m"};
        mutex second{other, "/locks/m"};
        auto held = co_await first.async_lock();
        const auto token = held.token();
        order.emplace_back("first");
        const auto waiting = [&]() -> asio::awaitable<void> {
            const auto next = co_await second.async_lock();
            order.emplace_back("second");
            BOOST_TEST((next.token() > token));
        };
        const auto releasing = [&]() -> asio::awaitable<void> {
            while ((co_await one.async_children("/locks/m")).names.size() != 2) {
            }
            order.emplace_back("released");
            co_await held.async_unlock();
        };
        co_await (waiting() && releasing());
        co_await one.async_close();
        co_await other.async_close();
    }());
    BOOST_TEST((order == std::vector<std::string>{"first", "released", "second"}));
}

BOOST_AUTO_TEST_CASE(a_watch_fires_and_a_session_that_is_silent_expires)
{
    const served s{{"--port", "0", "--quiet", "--session-timeout", "200ms:10s"}};
    asio::io_context io;
    client watcher{io, to(s)};
    run(io, [&]() -> asio::awaitable<void> {
        co_await watcher.async_connect();
        {
            admin_session gone{s.address, {.session_timeout = 3s}};
            gone.create("/mine", "", admin_session::mode::ephemeral);
            auto found = co_await watcher.async_watch("/mine");
            // No thread pings for it.
            const auto event = co_await found.changes.async_wait();
            BOOST_TEST((event.type == watch_event_type::deleted));
        }
        co_await watcher.async_close();
    }());
}

BOOST_AUTO_TEST_CASE(after_a_restart_sessions_have_expired_and_tokens_go_on)
{
    std::optional<served> s{std::in_place};
    const auto port = s->port();
    asio::io_context io;
    client zk{io, to(*s, 60s)};
    run(io, [&]() -> asio::awaitable<void> {
        co_await zk.async_connect();
        const auto before = zk.session_id();
        mutex m{zk, "/locks/m"};
        const auto held = co_await m.async_lock();
        const auto token = held.token();
        s->kill();
        s.emplace(std::vector<std::string>{"--port", port, "--quiet"});
        BOOST_REQUIRE(s->port() == port);
        const auto why = co_await held.async_wait_lost();
        BOOST_TEST((why == errc::session_expired));
        const auto again = co_await m.async_lock();
        BOOST_TEST((again.token() > token));
        BOOST_TEST(zk.session_id() != before);
        co_await zk.async_close();
    }());
}

BOOST_AUTO_TEST_CASE(it_says_what_it_is_and_so_do_others)
{
    colock_process loud{"", {"serve", "--port", "0"}};
    BOOST_REQUIRE(wait_until([&] { return !loud.out().empty(); }, long_enough));
    BOOST_TEST(has(loud.err(), "keeps nothing"), loud.err());
    BOOST_TEST(has(loud.err(), "no replicas"), loud.err());
    const auto address = loud.out().substr(0, loud.out().find('\n'));
    const auto r = run_colock(address, {"doctor"});
    BOOST_TEST(r.status == 0);
    BOOST_TEST(has(r.out, "is `colock serve`"), r.out);
    BOOST_TEST(run_colock(address, {"run", "/locks/r", "--", "true"}).status == 0);
    check_what_run_says(address, {});
    BOOST_TEST(run_colock(address, {"why", "/locks/r"}).status == 0);
    loud.process().send_signal(SIGTERM);
    BOOST_TEST(loud.status() == 128 + SIGTERM);
}

BOOST_AUTO_TEST_CASE(other_machines_are_let_in_on_demand_only)
{
    const auto refused = run_colock("", {"serve", "--port", "0", "--bind", "0.0.0.0"});
    BOOST_TEST(refused.status == 125);
    BOOST_TEST(has(refused.err, "--open-to-network"), refused.err);
    const served open{{"--port", "0", "--quiet", "--bind", "0.0.0.0", "--open-to-network"}};
    BOOST_TEST(open.address.starts_with("0.0.0.0:"));
    for (const auto* bad : {"1h", "0:1s", "2s:1s", "soon", "1s:365h"}) {
        const auto r =
            run_colock("", {"serve", "--port", "0", "--session-timeout", bad, "--bind", "::2"});
        BOOST_TEST(r.status == 125);
        BOOST_TEST(is_one_line(r.err), r.err);
    }
    const served first;
    const auto taken = run_colock("", {"serve", "--port", first.port()});
    BOOST_TEST(taken.status == 125);
    BOOST_TEST(has(taken.err, "cannot listen at"), taken.err);
}

BOOST_AUTO_TEST_CASE(tls_is_refused_where_there_is_none)
{
    const temporary_directory parent;
    const auto directory = parent.path() + "/tls";
    const std::vector<std::string> with_tls{"serve", "--port", "0", "--tls", directory};
    colock_process p{"", with_tls, {}, COLOCK_WITHOUT_TLS};
    BOOST_TEST(p.status() == 125);
    BOOST_TEST(p.out().empty(), p.out());
    BOOST_TEST(is_one_line(p.err()), p.err());
    BOOST_TEST(has(p.err(), "was built without TLS; build it with -D COLOCK_TLS=ON"), p.err());
    BOOST_TEST(!std::filesystem::exists(directory));
    const auto unnamed = run_colock("", {"serve", "--port", "0", "--tls", ""});
    BOOST_TEST(unnamed.status == 125);
    BOOST_TEST(has(unnamed.err, "--tls is empty"), unnamed.err);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test
