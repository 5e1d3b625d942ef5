// A program leaves a backup to the one who is at it, and makes it itself when that one is gone.
#define BOOST_TEST_MODULE rival
#include <colock/colock.hpp>
#include <colock/testing/server.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <exception>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// The program.
asio::awaitable<std::string> back_up(colock::client& zk, std::chrono::milliseconds patience)
{
    colock::mutex backup{zk, "/locks/backup"};
    colock::diagnostics why;
    const bool made = co_await backup.async_try_with_lock_for(
        patience, [](const colock::unique_lock&) -> asio::awaitable<void> { co_return; },
        colock::bind_diagnostics(why, asio::use_awaitable));
    co_return made ? "made" : why.message();
}

asio::awaitable<void> meet_a_rival(colock::testing::server& server)
{
    const auto executor = co_await asio::this_coro::executor;
    colock::client zk{executor, server.hosts()};
    colock::client rival{executor, server.hosts()};
    co_await zk.async_connect();
    co_await rival.async_connect();
    colock::mutex theirs{rival, "/locks/backup"};
    const auto held = co_await theirs.async_lock();

    const auto busy = co_await back_up(zk, 200ms);
    BOOST_TEST(busy.find("held by") != busy.npos, busy);

    server.expire(rival.session_id()); // the rival dies
    const auto free = co_await back_up(zk, 30s);
    BOOST_TEST(free == "made");
    co_await zk.async_close();
}

BOOST_AUTO_TEST_CASE(it_leaves_a_backup_to_the_one_who_is_at_it)
{
    colock::testing::server server;
    asio::io_context context;
    asio::co_spawn(context, meet_a_rival(server), [](std::exception_ptr e) {
        if (e) {
            std::rethrow_exception(e);
        }
    });
    context.run();
}
