// What a snippet may use without saying where it comes from.
#ifndef COLOCK_TEST_SNIPPETS_SURROUNDINGS_HPP
#define COLOCK_TEST_SNIPPETS_SURROUNDINGS_HPP

#include <colock/colock.hpp>
#include <colock/fence/fenced.hpp>
#include <colock/fence/file.hpp>
#include <colock/fence/statements.hpp>
#include <colock/testing/server.hpp>
#include <colock/testing/world.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// Statements are the body of a coroutine that is a member of this. Nothing of it is ever run.
struct surroundings {
    asio::io_context& context;
    colock::client& zk;
    colock::mutex& m;
    colock::mutex& orders;
    colock::shared_mutex& prices;
    colock::semaphore& pool;
    colock::election& scheduler;
    colock::unique_lock& held;

    std::string hosts;
    std::string path;
    std::string text;
    std::int32_t version = 0;

    asio::awaitable<void> work();
    static asio::awaitable<void> work(colock::client& zk);
    asio::awaitable<void> work(const std::string& what);
    asio::awaitable<void> write(const colock::fencing_token& token, const std::string& what);
    bool execute(const char* statement, const std::vector<std::string>& values);
    void show(std::size_t position);
    void show(const std::optional<std::string>& leader);
};

#endif
