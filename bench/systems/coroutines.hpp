// The commands of a system whose locks are colock's, or have the same two functions: `async_lock`,
// which gives a guard, and the guard's `async_unlock`.
#pragma once

#include <colock/client.hpp>

#include "own_system.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <deque>
#include <future>
#include <map>
#include <thread>
#include <utility>

namespace bench {

namespace asio = boost::asio;

// A context that runs in one thread, so that sessions live on between commands.
class background {
public:
    background() : thread_{[this] { context_.run(); }} {}
    background(const background&) = delete;
    background& operator=(const background&) = delete;
    ~background()
    {
        busy_.reset();
        thread_.join();
    }

    asio::io_context& context() noexcept { return context_; }

    template <class T>
    std::future<T> start(asio::awaitable<T> work)
    {
        return asio::co_spawn(context_, std::move(work), asio::use_future);
    }

private:
    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> busy_{context_.get_executor()};
    std::thread thread_;
};

// Sleeps, but for the last tenth of a millisecond, as all peers do.
inline asio::awaitable<void> sleep_until(clock::time_point moment)
{
    constexpr std::chrono::microseconds late{100};
    if (moment - clock::now() > late) {
        asio::steady_timer timer{co_await asio::this_coro::executor, moment - late};
        co_await timer.async_wait(asio::deferred);
    }
    while (clock::now() < moment) {
    }
}

template <class Mutex, class Guard>
class coroutine_system : public own_system {
public:
    explicit coroutine_system(colock::client_options options) : options_{std::move(options)}
    {
        connect(1);
    }

    ~coroutine_system() override { close(); }

    void lock(const std::string& path) override
    {
        held_[path] = io_.start(acquire(Mutex{clients_.front(), path})).get();
    }

    void unlock(const std::string& path) override
    {
        const auto node = held_.extract(path);
        if (node.empty()) {
            throw std::runtime_error{"not locked: " + path};
        }
        io_.start(release(std::move(node.mapped()))).get();
    }

    std::vector<cycle_time> cycles(const std::string& path, int count) override
    {
        return io_.start(timed_turns(Mutex{clients_.front(), path}, count)).get();
    }

    std::vector<clock::duration> reads(int count) override
    {
        return io_.start(timed_reads(clients_.front(), count)).get();
    }

    long contend(const std::string& path, contention c) override
    {
        connect(c.sessions);
        std::deque<Mutex> locks;
        std::vector<std::future<long>> turns;
        const auto end = clock::now() + c.time;
        for (int i = 0; i != c.sessions; ++i) {
            auto& own = locks.emplace_back(clients_[static_cast<std::size_t>(i)], path);
            turns.push_back(
                io_.start(count_turns([&own]() -> Mutex& { return own; }, end, c.hold)));
        }
        return sum(turns);
    }

    long many(const std::string& prefix, int locks, int in_flight,
              std::chrono::milliseconds time) override
    {
        std::deque<Mutex> all;
        for (int i = 0; i != locks; ++i) {
            all.emplace_back(clients_.front(), prefix + '/' + std::to_string(i));
        }
        std::size_t last = 0; // all coroutines run on one thread
        std::vector<std::future<long>> turns;
        const auto end = clock::now() + time;
        for (int i = 0; i != in_flight; ++i) {
            turns.push_back(io_.start(
                count_turns([&]() -> Mutex& { return all[last++ % all.size()]; }, end, {})));
        }
        return sum(turns);
    }

protected:
    // Once or twice.
    void close()
    {
        held_.clear();
        std::vector<std::future<void>> pending;
        for (auto& c : clients_) {
            pending.push_back(c.async_close(asio::use_future));
        }
        for (auto& p : pending) {
            p.wait();
        }
    }

    // So many sessions at least.
    void connect(int sessions)
    {
        std::vector<std::future<void>> pending;
        while (clients_.size() < static_cast<std::size_t>(sessions)) {
            auto& c = clients_.emplace_back(io_.context(), options_);
            pending.push_back(c.async_connect(asio::use_future));
        }
        for (auto& p : pending) {
            p.get();
        }
    }

    // What granted gives: a lock that `next` chose.
    template <class Next>
    static asio::awaitable<long> count_turns(Next next, clock::time_point end,
                                             std::chrono::microseconds hold)
    {
        long turns = 0;
        while (clock::now() < end) {
            auto held = co_await next().async_lock();
            const auto granted = clock::now();
            if (granted < end) {
                ++turns;
                if (hold.count() != 0) {
                    co_await sleep_until(granted + hold);
                }
            }
            co_await held.async_unlock();
        }
        co_return turns;
    }

    // Waits for all, also when one has failed: they use what the caller owns.
    static long sum(std::vector<std::future<long>>& turns)
    {
        for (auto& t : turns) {
            t.wait();
        }
        long all = 0;
        for (auto& t : turns) {
            all += t.get();
        }
        return all;
    }

    background io_;
    std::deque<colock::client> clients_;
    std::map<std::string, Guard> held_;

private:
    static asio::awaitable<Guard> acquire(Mutex m) { co_return co_await m.async_lock(); }
    static asio::awaitable<void> release(Guard held) { co_await held.async_unlock(); }

    static asio::awaitable<std::vector<cycle_time>> timed_turns(Mutex m, int count)
    {
        std::vector<cycle_time> times;
        times.reserve(static_cast<std::size_t>(count));
        for (int i = 0; i != count; ++i) {
            const auto begin = clock::now();
            auto held = co_await m.async_lock();
            const auto locked = clock::now();
            co_await held.async_unlock();
            times.push_back({locked - begin, clock::now() - begin});
        }
        co_return times;
    }

    static asio::awaitable<std::vector<clock::duration>> timed_reads(colock::client& c, int count)
    {
        std::vector<clock::duration> times;
        for (int i = 0; i != count; ++i) {
            const auto begin = clock::now();
            co_await c.async_exists("/");
            times.push_back(clock::now() - begin);
        }
        co_return times;
    }

    const colock::client_options options_;
};

} // namespace bench
