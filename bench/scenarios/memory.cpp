// The memory behind a client, behind locks that are held, and behind those who wait.
#include <colock/colock.hpp>
#include <support/allocation_count.hpp>
#include <support/zookeeper_server.hpp>

#include "arena.hpp"
#include "interruption.hpp"
#include "scenario.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <chrono>
#include <exception>
#include <fstream>
#include <functional>
#include <list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace {

namespace asio = boost::asio;
using colock::error_code;
using colock::test::heap_in_use;
using channel = asio::experimental::channel<void(error_code)>;

// Of a process, in bytes.
double resident(pid_t pid)
{
    std::ifstream in{"/proc/" + std::to_string(pid) + "/statm"};
    double all = 0;
    double resident = 0;
    if (!(in >> all >> resident)) {
        throw std::runtime_error{"cannot tell how much memory the server has"};
    }
    return resident * double(::sysconf(_SC_PAGESIZE));
}

class clients {
public:
    explicit clients(std::string hosts) : hosts_{std::move(hosts)} {}
    clients(const clients&) = delete;
    clients& operator=(const clients&) = delete;
    ~clients()
    {
        held_.clear();
        for (auto& c : all_) {
            c.async_close([](error_code) {});
        }
        nobody_.close();
        context_.restart();
        context_.run();
    }

    void connect(int number)
    {
        const auto missing = count(number);
        for (int i = 0; i != number; ++i) {
            auto& c = all_.emplace_back(
                context_, colock::client_options{.hosts = hosts_,
                                                 .session_timeout = std::chrono::seconds{30}});
            c.async_connect([this, missing](error_code ec) { done(ec, *missing); });
        }
        run_until([&] { return *missing == 0; });
    }

    // So many locks at each, 64 under way at a time.
    void hold(int locks)
    {
        constexpr int at_a_time = 64;
        const auto missing = count(0);
        held_.reserve(held_.size() + all_.size() * static_cast<std::size_t>(locks));
        int number = 0;
        for (auto& c : all_) {
            ++number;
            for (int first = 0; first != at_a_time && first != locks; ++first) {
                ++*missing;
                take(c, "/memory/" + std::to_string(number) + '-', first, at_a_time, locks,
                     missing);
            }
        }
        run_until([&] { return *missing == 0; });
        quiet(); // each holder watches its node
    }

    void keep(colock::mutex m)
    {
        const auto missing = count(1);
        m.async_lock([this, missing](error_code ec, colock::unique_lock held) {
            held_.push_back(std::move(held));
            done(ec, *missing);
        });
        run_until([&] { return *missing == 0; });
    }

    // So many coroutines wait for the lock, which is kept.
    void wait_for(const colock::mutex& m, int waiters)
    {
        for (int i = 0; i != waiters; ++i) {
            asio::co_spawn(context_, wait(m), forget);
        }
        quiet();
    }
    // So many wait for a channel, to which nobody sends.
    void wait_for_nothing(const colock::mutex& m, int waiters)
    {
        for (int i = 0; i != waiters; ++i) {
            asio::co_spawn(context_, receive(nobody_, m), forget);
        }
        quiet();
    }

    [[nodiscard]] colock::client& front() { return all_.front(); }

private:
    static void forget(std::exception_ptr) {} // they end with the client

    static asio::awaitable<void> wait(colock::mutex m)
    {
        const auto held = co_await m.async_lock(asio::use_awaitable);
    }
    // Of the same shape.
    static asio::awaitable<void> receive(channel& c, colock::mutex)
    {
        co_await c.async_receive(asio::use_awaitable);
        const colock::unique_lock held;
        co_await c.async_receive(asio::use_awaitable);
    }

    void take(colock::client& c, const std::string& prefix, int number, int step, int locks,
              const std::shared_ptr<int>& missing)
    {
        colock::mutex m{c, prefix + std::to_string(number)};
        m.async_lock([this, &c, prefix, next = number + step, step, locks,
                      missing](error_code ec, colock::unique_lock held) {
            held_.push_back(std::move(held));
            if (ec || next >= locks) {
                done(ec, *missing);
            } else {
                take(c, prefix, next, step, locks, missing);
            }
        });
    }

    // Handlers that are still to be called keep it.
    static std::shared_ptr<int> count(int number) { return std::make_shared<int>(number); }

    void done(const error_code& ec, int& missing)
    {
        failure_ = failure_ ? failure_ : ec;
        --missing;
    }

    void run_until(const std::function<bool()>& enough)
    {
        const auto end = std::chrono::steady_clock::now() + std::chrono::minutes{3};
        context_.restart();
        while (!failure_ && !enough()) {
            context_.run_for(std::chrono::milliseconds{20});
            check_interruption();
            if (std::chrono::steady_clock::now() > end) {
                throw std::runtime_error{"what takes seconds took three minutes"};
            }
        }
        if (failure_) {
            throw std::runtime_error{failure_.message()};
        }
    }

    // Until no request has been under way for a while: waiters and holders have set their watches then.
    void quiet()
    {
        using clock = std::chrono::steady_clock;
        auto last = clock::now();
        std::uint64_t before = 0;
        context_.restart();
        while (clock::now() - last < std::chrono::milliseconds{300}) {
            check_interruption();
            context_.run_for(std::chrono::milliseconds{20});
            std::uint64_t sent = 0;
            std::size_t in_flight = 0;
            for (const auto& c : all_) {
                const auto s = c.stats();
                sent += s.requests;
                in_flight += s.in_flight;
            }
            if (in_flight != 0 || sent > before + all_.size()) { // heartbeats go on
                last = clock::now();
                before = sent;
            }
        }
    }

    const std::string hosts_;
    asio::io_context context_{1};
    channel nobody_{context_.get_executor()};
    std::list<colock::client> all_;
    std::vector<colock::unique_lock> held_;
    error_code failure_; // the first one
};

} // namespace

void memory(const run_options& options, report& out)
{
    colock::test::zookeeper_server server{server_options(options)};
    const auto add = [&](int number, const char* what, const char* unit, double value) {
        out.add({"memory", "colock", 0, number, 1, what, unit, {value}});
    };
    constexpr double mega = 1e6;
    {
        clients all{server.connect_string()};
        all.connect(2); // what is made once is there then
        const int number = 100;
        const auto nobody = double(heap_in_use());
        all.connect(number - 2);
        add(1, "a client without a lock", "bytes", (double(heap_in_use()) - nobody) / (number - 2));
        const int locks = options.quick ? 100 : 1000;
        const auto of_server = resident(server.pid());
        all.hold(locks);
        add(number, options.quick ? "10,000 held locks" : "100,000 held locks", "MB",
            (double(heap_in_use()) - nobody) / mega);
        add(number,
            options.quick ? "10,000 held locks, of the server"
                          : "100,000 held locks, of the server",
            "MB", (resident(server.pid()) - of_server) / mega);
    }
    clients one{server.connect_string()};
    one.connect(1);
    const colock::mutex own_nodes{one.front(), "/memory-own", {.max_local_grants = 0}};
    const colock::mutex shared{one.front(), "/memory-shared"};
    one.keep(own_nodes);
    one.keep(shared);
    const auto each = [&](int waiters, const std::function<void(int)>& add_waiters) {
        add_waiters(10); // what is made once
        const auto before = double(heap_in_use());
        add_waiters(waiters);
        return (double(heap_in_use()) - before) / waiters;
    };
    const int waiters = 1000;
    const auto coroutine = each(waiters, [&](int n) { one.wait_for_nothing(shared, n); });
    const auto in_queue = each(waiters, [&](int n) { one.wait_for(own_nodes, n); });
    const auto local = each(waiters, [&](int n) { one.wait_for(shared, n); });
    add(waiters, "a coroutine that waits for a channel", "bytes", coroutine);
    add(waiters, "a waiter with a node of its own, with its coroutine", "bytes", in_queue);
    add(waiters, "a waiter with a node of its own, beyond such a coroutine", "bytes",
        in_queue - coroutine);
    add(waiters, "a waiter behind others of its client, beyond such a coroutine", "bytes",
        local - coroutine);
}

} // namespace bench
