// All that this file knows of colock is the module.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>
#include <string>

import colock;

namespace asio = boost::asio;

namespace {

asio::awaitable<bool> lock(asio::io_context& context, std::string hosts)
{
    colock::client_options options;
    options.hosts = hosts;
    colock::client client{context, options};
    co_await client.async_connect();
    colock::mutex mutex{client, "/locks/orders"};
    const auto held = co_await mutex.async_lock();
    std::cout << "token " << held.token() << ", " << to_string(client.state()) << '\n';
    bool good = held && held.token() != colock::fencing_token{};
    try {
        co_await client.async_get("/nothing");
        good = false;
    } catch (const boost::system::system_error& e) {
        good = good && e.code() == colock::zookeeper_errc::no_node;
    }
    co_await client.async_close();
    co_return good;
}

} // namespace

bool is_locked(const std::string& hosts)
{
    asio::io_context context;
    bool good = false;
    asio::co_spawn(context, lock(context, hosts), [&](std::exception_ptr failed, bool result) {
        if (failed) {
            std::rethrow_exception(failed);
        }
        good = result;
    });
    context.run();
    return good;
}
