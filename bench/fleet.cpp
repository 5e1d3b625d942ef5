// Many clients in one process, each of which holds a lock or waits for one, for bench/storm.py: `colock_fleet HOSTS
// TIMEOUT_MS` takes the commands `hold` and `back` of peers/README.md.
#include <colock/mutex.hpp>

#include "systems/coroutines.hpp"

#include <boost/asio/redirect_error.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

namespace {

using bench::asio::awaitable;

awaitable<colock::unique_lock> hold(colock::client& c, std::string path)
{
    co_await c.async_connect();
    colock::mutex m{c, path};
    co_return co_await m.async_lock();
}

// After three answers, one after the other, who waits has its list and its watches, too.
awaitable<void> answered(colock::client& c)
{
    for (int left = 3; left != 0;) {
        boost::system::error_code ec;
        co_await c.async_exists("/", redirect_error(bench::asio::use_awaitable, ec));
        if (!ec) {
            --left;
        }
    }
}

awaitable<void> stand_in_line(colock::client& c, std::string path, std::size_t number)
{
    for (;;) {
        const auto found =
            co_await c.async_children(path); // GCC 12 never ends a loop that asks in its condition
        if (found.names.size() == number) {
            co_return;
        }
        co_await bench::sleep_until(bench::clock::now() + std::chrono::milliseconds{10});
    }
}

class fleet {
public:
    explicit fleet(colock::client_options options) : options_{std::move(options)} {}
    ~fleet()
    {
        locks_.clear();
        std::vector<std::future<void>> pending;
        for (auto& c : clients_) {
            pending.push_back(c.async_close(bench::asio::use_future));
        }
        for (auto& p : pending) {
            p.wait();
        }
    }
    fleet(const fleet&) = delete;
    fleet& operator=(const fleet&) = delete;

    // So many stand in line for each lock. The first of them holds it.
    void take(const std::string& prefix, int count, int line)
    {
        const auto path = [&](int i) { return prefix + '/' + std::to_string(i / line); };
        std::vector<std::future<colock::unique_lock>> pending;
        for (int i = 0; i < count; i += line) {
            auto& c = clients_.emplace_back(io_.context(), options_);
            pending.push_back(io_.start(hold(c, path(i))));
        }
        for (auto& p : pending) {
            locks_.push_back(p.get());
        }
        for (int i = 0; i != count; ++i) {
            if (i % line != 0) {
                auto& c = clients_.emplace_back(io_.context(), options_);
                waiting_.push_back(io_.start(hold(c, path(i))));
            }
        }
        std::vector<std::future<void>> lines;
        for (int i = 0; i < count; i += line) {
            const auto number = static_cast<std::size_t>(std::min(line, count - i));
            lines.push_back(io_.start(stand_in_line(clients_.front(), path(i), number)));
        }
        for (auto& each : lines) {
            each.get();
        }
    }

    // When a server has answered each of them.
    bench::clock::time_point back()
    {
        std::vector<std::future<void>> pending;
        for (auto& c : clients_) {
            pending.push_back(io_.start(answered(c)));
        }
        for (auto& p : pending) {
            p.get();
        }
        return bench::clock::now();
    }

    [[nodiscard]] auto held() const
    {
        return std::ranges::count_if(locks_, [](const auto& l) { return static_cast<bool>(l); });
    }

private:
    const colock::client_options options_;
    bench::background io_;
    std::deque<colock::client> clients_;
    std::vector<colock::unique_lock> locks_;
    std::vector<std::future<colock::unique_lock>> waiting_;
};

} // namespace

int main(int argc, char** argv)
try {
    if (argc != 3) {
        std::cerr << "usage: colock_fleet HOSTS TIMEOUT_MS\n";
        return 2;
    }
    fleet all{{.hosts = argv[1],
               .session_timeout = std::chrono::milliseconds{std::stoi(argv[2])},
               .connect_timeout = std::chrono::milliseconds::max()}};
    std::cout << "ready" << std::endl;
    for (std::string what; std::cin >> what && what != "quit";) {
        if (what == "hold") {
            std::string prefix;
            int count = 0, line = 0;
            std::cin >> prefix >> count >> line;
            all.take(prefix, count, line);
            std::cout << "held" << std::endl;
        } else if (what == "back") {
            const auto when = all.back().time_since_epoch();
            std::cout << "back " << std::chrono::nanoseconds{when}.count() << ' ' << all.held()
                      << std::endl;
        } else {
            std::cout << "error unknown command: " << what << std::endl;
        }
    }
} catch (const std::exception& e) {
    std::cout << "error " << e.what() << std::endl;
    return 1;
}
