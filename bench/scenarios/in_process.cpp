// Contention within one process, which never reaches the server: coroutines that take turns, beside the same
// with a channel that holds one token, which is what one would write without this library.
#include <colock/colock.hpp>
#include <support/zookeeper_server.hpp>

#include "arena.hpp"
#include "compare.hpp"
#include "in_process_peers.hpp"
#include "scenario.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace {

namespace asio = boost::asio;
using colock::test::zookeeper_server;
using channel = asio::experimental::channel<void(colock::error_code)>;

// Adds up what it hears, as one does that counts for itself.
class sink final : public colock::observer {
public:
    void acquisition_began(const colock::acquisition_start&) noexcept override { ++waiting_; }
    void acquisition_ended(const colock::acquisition_end& e) noexcept override
    {
        --waiting_;
        waited_ += e.waited;
    }
    void hold_ended(const colock::hold_end& e) noexcept override { held_ += e.held; }

private:
    std::int64_t waiting_ = 0;
    std::chrono::nanoseconds waited_{0}, held_{0};
};

// So many turns of a lock that the guard's destructor releases.
asio::awaitable<void> lock_turns(colock::mutex m, int turns, std::int64_t& guarded)
{
    for (int i = 0; i != turns; ++i) {
        const auto held = co_await m.async_lock();
        ++guarded;
    }
}

// The same with a token.
template <class Channel>
asio::awaitable<void> token_turns(Channel& token, int turns, std::int64_t& guarded)
{
    for (int i = 0; i != turns; ++i) {
        co_await token.async_receive(asio::deferred);
        ++guarded;
        token.try_send(colock::error_code{});
    }
}

// One thread, one context, for all contestants.
class process {
public:
    explicit process(const std::string& hosts)
        : client_{context_, {.hosts = hosts}}, observed_{context_,
                                                         {.hosts = hosts,
                                                          .observer = std::make_shared<sink>()}},
          timed_{context_,
                 {.hosts = hosts, .observer = std::make_shared<sink>(), .histograms = true}},
          token_{context_.get_executor(), 1}
    {
        for (auto* each : {&client_, &observed_, &timed_}) {
            await(each->async_connect(asio::deferred));
        }
        token_.try_send(colock::error_code{});
    }
    process(const process&) = delete;
    process& operator=(const process&) = delete;
    ~process()
    {
        for (auto* each : {&client_, &observed_, &timed_}) {
            each->async_close([](colock::error_code) {}); // it need not be connected any more
        }
        context_.restart();
        context_.run();
    }

    // So many grants, shared evenly; the time of one of them in nanoseconds.
    template <class Turns>
    double time_of(Turns&& turns, int coroutines, int grants)
    {
        using clock = std::chrono::steady_clock;
        int left = coroutines;
        std::exception_ptr failure;
        const auto start = clock::now();
        for (int i = 0; i != coroutines; ++i) {
            asio::co_spawn(context_, turns(grants / coroutines), [&](std::exception_ptr e) {
                failure = e ? e : failure;
                if (--left == 0) {
                    context_.stop();
                }
            });
        }
        context_.restart();
        context_.run();
        if (failure) {
            std::rethrow_exception(failure);
        }
        return std::chrono::duration<double, std::nano>(clock::now() - start).count() / grants;
    }

    // The lock is taken, and released by the guard's destructor or an operation.
    asio::awaitable<void> lock(colock::mutex m, int turns)
    {
        return lock_turns(std::move(m), turns, guarded_);
    }
    asio::awaitable<void> lock_and_unlock(colock::mutex m, int turns)
    {
        for (int i = 0; i != turns; ++i) {
            auto held = co_await m.async_lock();
            ++guarded_;
            co_await held.async_unlock();
        }
    }
    asio::awaitable<void> receive(int turns) { return token_turns(token_, turns, guarded_); }
    asio::awaitable<void> receive_and_send(int turns)
    {
        for (int i = 0; i != turns; ++i) {
            co_await token_.async_receive(asio::deferred);
            ++guarded_;
            co_await token_.async_send(colock::error_code{}, asio::deferred);
        }
    }

    [[nodiscard]] colock::client& client() noexcept { return client_; }
    [[nodiscard]] colock::client& observed() noexcept { return observed_; }
    [[nodiscard]] colock::client& timed() noexcept { return timed_; } // observed, too

private:
    template <class Operation>
    void await(Operation&& operation)
    {
        std::forward<Operation>(operation)([&](colock::error_code ec) {
            context_.stop();
            if (ec) {
                throw std::runtime_error{ec.message()};
            }
        });
        context_.restart();
        context_.run();
    }

    asio::io_context context_;
    colock::client client_, observed_, timed_;
    channel token_;
    std::int64_t guarded_ = 0;
};

constexpr const char* unlock_awaited = "grant, unlock awaited";

struct pair {
    const char* metric;
    std::function<asio::awaitable<void>(int)> ours, theirs;
};

void in_this_process(const run_options& options, report& out)
{
    zookeeper_server server{server_options(options)};
    process p{server.connect_string()};
    const int grants = options.quick ? 64'000 : options.full ? 320'000 : 160'000;
    // Nobody to hand over to: each goes to the server.
    const colock::mutex alone{p.client(), "/in-process-alone"};
    p.time_of([&](int n) { return p.lock_and_unlock(alone, n); }, 1, 3000); // warm, as the peers
    figure rate{"in_process", "colock", 0, 1, 1, "grants", "1/s", {}};
    for (int round = 0; round != options.rounds; ++round) {
        rate.rounds.push_back(
            1e9 / p.time_of([&](int n) { return p.lock_and_unlock(alone, n); }, 1, 500));
    }
    out.add(rate);
    for (const int coroutines : {8, 64, 1000}) {
        const colock::mutex m{p.client(), "/in-process"};
        const std::vector<pair> pairs{
            {"grant, released by the guard", [&](int n) { return p.lock(m, n); },
             [&](int n) { return p.receive(n); }},
            {unlock_awaited, [&](int n) { return p.lock_and_unlock(m, n); },
             [&](int n) { return p.receive_and_send(n); }},
        };
        for (const auto& each : pairs) {
            compare(
                out, {"in_process", 0, coroutines},
                {{"colock", [&] { return std::vector{p.time_of(each.ours, coroutines, grants)}; }},
                 {"channel",
                  [&] { return std::vector{p.time_of(each.theirs, coroutines, grants)}; }}},
                {{each.metric, "ns", "channel"}}, {.rounds = options.rounds, .slices = 3});
        }
        // What observing costs, in turns with the same work of a client that nobody observes.
        const colock::mutex observed{p.observed(), "/in-process-observed"};
        const colock::mutex timed{p.timed(), "/in-process-timed"};
        const auto slice = [&](const colock::mutex& of) {
            return [&p, &of, coroutines, grants] {
                return std::vector{
                    p.time_of([&](int n) { return p.lock(of, n); }, coroutines, grants)};
            };
        };
        compare(out, {"in_process", 0, coroutines},
                {{"colock with observer", slice(observed)},
                 {"colock with observer and histograms", slice(timed)},
                 {"colock", slice(m)}},
                {{"hand-off, observed or not", "ns", "colock"}},
                {.rounds = options.rounds, .slices = 2});
        // As the peers' unlock is.
        if (const auto* time =
                out.find({{"in_process", 0, coroutines, 1}, unlock_awaited}, "colock")) {
            figure speed{"in_process", "colock", 0, coroutines, 1, "grants", "1/s", {}};
            std::ranges::transform(time->rounds, std::back_inserter(speed.rounds),
                                   [](double ns) { return 1e9 / ns; });
            out.add(speed);
        }
    }
}

// The same on several threads, each coroutine on a strand of its own; beside a channel that several threads may use.
class pool {
public:
    pool(const std::string& hosts, int threads)
        : pool_{static_cast<std::size_t>(threads)}, client_{pool_, {.hosts = hosts}},
          token_{pool_.get_executor(), 1}
    {
        client_.async_connect(asio::use_future).get();
        token_.try_send(colock::error_code{});
    }
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;
    ~pool()
    {
        client_.async_close([](colock::error_code) {});
        pool_.join();
    }

    template <class Turns>
    double time_of(Turns&& turns, int coroutines, int grants)
    {
        using clock = std::chrono::steady_clock;
        std::vector<std::future<void>> running;
        const auto start = clock::now();
        for (int i = 0; i != coroutines; ++i) {
            running.push_back(asio::co_spawn(asio::make_strand(pool_), turns(grants / coroutines),
                                             asio::use_future));
        }
        for (auto& each : running) {
            each.wait();
        }
        const auto time = clock::now() - start;
        for (auto& each : running) {
            each.get();
        }
        return std::chrono::duration<double, std::nano>(time).count() / grants;
    }

    asio::awaitable<void> lock(colock::mutex m, int turns)
    {
        return lock_turns(std::move(m), turns, guarded_);
    }
    asio::awaitable<void> receive(int turns) { return token_turns(token_, turns, guarded_); }

    [[nodiscard]] colock::client& client() noexcept { return client_; }

private:
    asio::thread_pool pool_;
    colock::client client_;
    asio::experimental::concurrent_channel<void(colock::error_code)> token_;
    std::int64_t guarded_ = 0; // by the lock, or the token
};

void on_several_threads(const run_options& options, report& out)
{
    zookeeper_server server{server_options(options)};
    const int grants = options.quick ? 16'000 : options.full ? 64'000 : 32'000;
    constexpr int coroutines = 64;
    for (const int threads : {2, 8}) {
        pool p{server.connect_string(), threads};
        const colock::mutex m{p.client(), "/in-process-pool"};
        const auto time = [&](auto turns) {
            return
                [&p, turns, grants] { return std::vector{p.time_of(turns, coroutines, grants)}; };
        };
        compare(out, {"in_process", 0, coroutines},
                {{"colock", time([&](int n) { return p.lock(m, n); })},
                 {"channel", time([&](int n) { return p.receive(n); })}},
                {{"grant on " + std::to_string(threads) + " threads, released by the guard", "ns",
                  "channel"}},
                {.rounds = options.rounds, .slices = 3});
    }
}

} // namespace

void in_process(const run_options& options, report& out)
{
    in_this_process(options, out);
    on_several_threads(options, out);
    in_process_peers(options, out);
}

// One user, who comes back before the node has gone.
void linger(const run_options& options, report& out)
{
    zookeeper_server server{server_options(options)};
    process p{server.connect_string()};
    const int cycles = options.quick ? 200'000 : 1'000'000;
    const colock::mutex m{p.client(), "/linger", {.linger = std::chrono::seconds{10}}};
    // The node; and its watch, which the client sets once.
    p.time_of([&](int n) { return p.lock(m, n); }, 1, cycles);
    figure time{"linger", "colock", 0, 1, 1, "lock + unlock, released by the guard", "ns", {}};
    figure rate{"linger", "colock", 0, 1, 1, "cycles a second", "1/s", {}};
    figure packets{"linger", "colock", 0, 1, 1, "packets in so many cycles, less heartbeats",
                   "",       {}};
    for (int round = 0; round != options.rounds; ++round) {
        const auto before = server.packets_received();
        const auto heartbeats = p.client().stats().heartbeats;
        const auto ns = p.time_of([&](int n) { return p.lock(m, n); }, 1, cycles);
        time.rounds.push_back(ns);
        rate.rounds.push_back(1e9 / ns);
        const auto beats = p.client().stats().heartbeats - heartbeats;
        packets.rounds.push_back(double(server.packets_received() - before) - double(beats));
    }
    out.add(time);
    out.add(rate);
    out.add(packets);
}

} // namespace bench
