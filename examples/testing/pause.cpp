// A process that is paused before it writes, for longer than its session lasts, cannot be told. The store refuses what it
// writes then.
#define BOOST_TEST_MODULE pause
#include <colock/colock.hpp>
#include <colock/fence/fenced.hpp>
#include <colock/testing/server.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <string>

namespace asio = boost::asio;

// It remembers the greatest token, as a table with a column for it does.
struct store {
    std::string seen, text;

    bool write(const std::string& token, const std::string& what)
    {
        text = token < seen ? text : what;
        seen = std::max(seen, token);
        return seen == token;
    }
};

// The program: decides what to publish, and publishes it.
void publish(const std::string& hosts, store& to, const std::function<std::string()>& decide)
{
    asio::io_context context;
    colock::client zk{context, hosts};
    const auto run = [&]() -> asio::awaitable<void> {
        co_await zk.async_connect();
        colock::mutex news{zk, "/locks/news"};
        const auto held = co_await news.async_lock();
        const auto text = decide();
        colock::fenced(held, [&](const std::string& token) { return to.write(token, text); });
    };
    auto done = asio::co_spawn(context, run(), asio::use_future);
    while (done.wait_for(std::chrono::seconds{0}) != std::future_status::ready) {
        context.run_one();
    }
    done.get();
}

BOOST_AUTO_TEST_CASE(what_it_writes_after_a_pause_is_refused)
{
    colock::testing::server server;
    store news;
    const auto pause = [&] {
        server.expire(server.sessions().front());
        publish(server.hosts(), news, [] { return "new"; });
        return "old";
    };
    BOOST_CHECK_EXCEPTION(publish(server.hosts(), news, pause), boost::system::system_error,
                          [](const auto& e) { return e.code() == colock::errc::fenced; });
    BOOST_TEST(news.text == "new");
}
