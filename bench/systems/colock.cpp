#include <colock/colock.hpp>

#include "system.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>

#include <exception>

namespace bench {

namespace {

namespace asio = boost::asio;

class colock_client final : public lock_client {
public:
    colock_client(const std::string& hosts, const std::string& path)
        : client_{context_, {.hosts = hosts}}, mutex_{client_, path}
    {
        run(connect());
    }

    ~colock_client() override { run(close()); }

    std::vector<cycle_time> cycles(int count) override
    {
        std::vector<cycle_time> times;
        times.reserve(static_cast<std::size_t>(count));
        run(take_turns(count, times));
        return times;
    }

    std::vector<clock::duration> round_trips(int count) override
    {
        std::vector<clock::duration> times;
        run(read(count, times));
        return times;
    }

private:
    // The client's own waiting keeps the context busy: stopped when the work at hand is done.
    void run(asio::awaitable<void> work)
    {
        std::exception_ptr failed;
        asio::co_spawn(context_, std::move(work), [&](std::exception_ptr e) {
            failed = e;
            context_.stop();
        });
        context_.restart();
        context_.run();
        if (failed) {
            std::rethrow_exception(failed);
        }
    }

    asio::awaitable<void> connect() { co_await client_.async_connect(); }
    asio::awaitable<void> close() { co_await client_.async_close(); }

    asio::awaitable<void> take_turns(int count, std::vector<cycle_time>& times)
    {
        for (int i = 0; i != count; ++i) {
            const auto begin = clock::now();
            auto held = co_await mutex_.async_lock();
            const auto locked = clock::now();
            co_await held.async_unlock();
            times.push_back({locked - begin, clock::now() - begin});
        }
    }

    asio::awaitable<void> read(int count, std::vector<clock::duration>& times)
    {
        for (int i = 0; i != count; ++i) {
            const auto begin = clock::now();
            co_await client_.async_exists("/");
            times.push_back(clock::now() - begin);
        }
    }

    asio::io_context context_{1};
    colock::client client_;
    colock::mutex mutex_;
};

} // namespace

std::unique_ptr<lock_client> make_colock_client(const std::string& hosts, const std::string& path)
{
    return std::make_unique<colock_client>(hosts, path);
}

} // namespace bench
