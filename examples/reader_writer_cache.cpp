// A cache that all processes share: readers serve the value together, and the first one that finds it too old makes a
// new one, while the others wait. It then goes on as a reader without letting go: async_downgrade. There is no way
// from the shared lock to the exclusive one, because two readers on that way would wait for each other.
//
//     reader_writer_cache [MAX_AGE [HOST:PORT]]      milliseconds
//
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <utility>

namespace asio = boost::asio;
using std::chrono::milliseconds;

asio::awaitable<void> pause(milliseconds duration)
{
    asio::steady_timer timer{co_await asio::this_coro::executor, duration};
    co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<bool> is_fresh(colock::client& zk, milliseconds max_age)
{
    const auto found = co_await zk.async_exists("/rates");
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    co_return found&& now - milliseconds{found->mtime} < max_age;
}

asio::awaitable<void> run(colock::client& zk, milliseconds max_age)
{
    co_await zk.async_connect();
    colock::shared_mutex cache{zk, "/locks/rates"};
    colock::shared_lock reading = co_await cache.async_lock_shared();
    if (!co_await is_fresh(zk, max_age)) {
        co_await reading.async_unlock();
        colock::unique_lock writing = co_await cache.async_lock();
        if (!co_await is_fresh(zk, max_age)) { // nobody else has made it meanwhile
            std::cout << "making new rates" << std::endl;
            co_await pause(milliseconds{200});
            const auto text = "rates by token " + to_string(writing.token());
            const bool is_there{co_await zk.async_exists("/rates")};
            const auto step =
                is_there ? colock::set_op("/rates", text) : colock::create_op("/rates", text);
            const auto steps = writing.guarded(step);
            co_await zk.async_multi(steps);
        }
        reading = co_await cache.async_downgrade(std::move(writing));
    }
    const auto rates = co_await zk.async_get("/rates");
    std::cout << "serving " << colock::printable(rates.data) << std::endl;
    co_await pause(milliseconds{1000});
    std::cout << "served" << std::endl;
    co_await reading.async_unlock();
    co_await zk.async_close();
}

int main(int argc, char** argv)
{
    asio::io_context context;
    colock::client zk{context, {.hosts = argc > 2 ? argv[2] : "localhost:2181"}};
    try {
        const milliseconds max_age{argc > 1 ? std::stoi(argv[1]) : 10'000};
        asio::co_spawn(context, run(zk, max_age), [](std::exception_ptr e) {
            if (e) {
                std::rethrow_exception(e);
            }
        });
        context.run();
    } catch (const std::exception& e) {
        std::cerr << e.what() << "\n  " << zk.last_error_detail() << '\n';
        return 1;
    }
}
