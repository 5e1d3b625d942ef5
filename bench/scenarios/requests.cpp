// What reaches the server, counted: it depends on nothing but the protocol.
#include <colock/colock.hpp>
#include <support/wait_until.hpp>
#include <support/zookeeper_server.hpp>

#include "arena.hpp"
#include "requests_of_all.hpp"
#include "scenario.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <deque>
#include <future>
#include <stdexcept>
#include <thread>

namespace bench {

namespace {

namespace asio = boost::asio;
using colock::test::zookeeper_server;

template <class T>
T wait(std::future<T> future)
{
    if (future.wait_for(std::chrono::seconds{60}) != std::future_status::ready) {
        throw std::runtime_error{"no answer within a minute"};
    }
    return future.get();
}

// Runs a context until it is destroyed.
class running {
public:
    explicit running(asio::io_context& context)
        : context_{context}, thread_{[&context, busy = asio::make_work_guard(context)] {
              context.run();
          }}
    {
    }
    running(const running&) = delete;
    running& operator=(const running&) = delete;
    ~running()
    {
        context_.stop();
        thread_.join();
    }

private:
    asio::io_context& context_;
    std::thread thread_;
};

// Several clients on one thread of their own, until they are destroyed.
class crowd {
public:
    crowd(const std::string& hosts, std::string path, int size) : path_{std::move(path)}
    {
        for (int i = 0; i != size; ++i) {
            clients_.emplace_back(context_, colock::client_options{.hosts = hosts});
        }
        for (auto& c : clients_) {
            wait(c.async_connect(asio::use_future));
        }
    }
    crowd(const crowd&) = delete;
    crowd& operator=(const crowd&) = delete;
    ~crowd()
    {
        for (auto& c : clients_) {
            c.async_close(asio::use_future).wait();
        }
    }

    colock::client& operator[](std::size_t i) { return clients_[i]; }
    std::size_t size() const { return clients_.size(); }
    std::future<colock::unique_lock> lock(std::size_t i)
    {
        return colock::mutex{clients_[i], path_}.async_lock(asio::use_future);
    }

    // Each takes so many turns, all at once.
    void take_turns(int turns)
    {
        std::vector<std::future<void>> all;
        for (auto& c : clients_) {
            all.push_back(asio::co_spawn(context_, loop(c, turns), asio::use_future));
        }
        for (auto& f : all) {
            wait(std::move(f));
        }
    }

private:
    asio::awaitable<void> loop(colock::client& c, int turns)
    {
        colock::mutex m{c, path_};
        for (int i = 0; i != turns; ++i) {
            auto held = co_await m.async_lock();
            co_await held.async_unlock();
        }
    }

    const std::string path_;
    asio::io_context context_;
    std::deque<colock::client> clients_;
    running thread_{context_};
};

double requests_a_turn(zookeeper_server& server, const std::string& path, int clients, int turns)
{
    crowd all{server.connect_string(), path, clients};
    all.take_turns(2); // the directory is there then, and who is alone knows it
    const auto before = server.packets_received();
    all.take_turns(turns);
    return double(server.packets_received() - before) / (clients * turns);
}

// Of all who wait, those that hear of the release of the one who holds.
double woken_by_a_release(zookeeper_server& server, const std::string& path, int waiters)
{
    crowd all{server.connect_string(), path, waiters + 1};
    auto held = wait(all.lock(0));
    std::vector<std::future<colock::unique_lock>> waiting;
    // Each watches itself and two before it, the first waiter only one; the holder watches itself.
    const auto watches = [](int n) { return n == 0 ? 1 : 3 * n; };
    for (int i = 1; i <= waiters; ++i) { // one by one, so that they queue in this order
        waiting.push_back(all.lock(static_cast<std::size_t>(i)));
        if (!colock::test::wait_until([&] { return server.watch_count() == watches(i); },
                                      std::chrono::seconds{60})) {
            throw std::runtime_error{"a waiter does not wait"};
        }
    }
    std::vector<std::uint64_t> before;
    for (std::size_t i = 1; i != all.size(); ++i) {
        before.push_back(all[i].stats().watch_events);
    }
    wait(held.async_unlock(asio::use_future));
    held = wait(std::move(waiting[0]));
    // A read of each client comes behind whatever the server had to tell it.
    int woken = 0;
    for (std::size_t i = 1; i != all.size(); ++i) {
        wait(all[i].async_sync("/", asio::use_future));
        woken += all[i].stats().watch_events != before[i - 1] ? 1 : 0;
    }
    // Let the others go, in order.
    for (std::size_t i = 1; i < waiting.size(); ++i) {
        wait(held.async_unlock(asio::use_future));
        held = wait(std::move(waiting[i]));
    }
    wait(held.async_unlock(asio::use_future));
    return woken;
}

} // namespace

void requests(const run_options& options, report& out)
{
    zookeeper_server server{server_options(options)};
    const int turns = options.quick ? 50 : 200;
    const auto figure_of = [&](int clients, const char* metric, const char* unit, auto&& measure) {
        figure f{"requests", "colock", 0, clients, 1, metric, unit, {}};
        // They do not depend on how busy the machine is, but a heartbeat may come in between.
        for (int round = 0; round != std::min(options.rounds, 3); ++round) {
            const auto path =
                "/bench/" + std::to_string(clients) + '-' + std::to_string(round) + unit;
            f.rounds.push_back(measure(path));
        }
        out.add(std::move(f));
    };
    figure_of(1, "requests a cycle", "requests",
              [&](const std::string& path) { return requests_a_turn(server, path, 1, turns); });
    figure_of(8, "requests a hand-over", "requests",
              [&](const std::string& path) { return requests_a_turn(server, path, 8, turns); });
    for (const int waiters : {2, 200}) {
        figure_of(
            waiters + 1, "clients woken by a release", "clients",
            [&](const std::string& path) { return woken_by_a_release(server, path, waiters); });
    }
    requests_of_all(options, out);
}

} // namespace bench
