// A world in which examples run.
#pragma once

#include <colock/colock.hpp>
#include <colock/testing/world.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <functional>
#include <iostream>
#include <sstream>
#include <streambuf>
#include <string>
#include <string_view>

namespace world {

using namespace std::chrono_literals;
namespace asio = boost::asio;

// What the examples print is kept, not shown.
struct scene {
    scene() : before{std::cout.rdbuf(text.rdbuf())} {}
    scene(const scene&) = delete;
    scene& operator=(const scene&) = delete;
    ~scene() { std::cout.rdbuf(before); }

    // A process that runs a coroutine with a client of its own.
    void start(const std::string& name, std::function<asio::awaitable<void>(colock::client&)> run)
    {
        w.start_process(name, [run](auto& context, std::string hosts) -> asio::awaitable<void> {
            colock::client zk{context, {.hosts = hosts}};
            co_await run(zk);
        });
    }
    [[nodiscard]] std::size_t printed(std::string_view what) const
    {
        const auto all = text.str();
        std::size_t found = 0;
        for (auto at = all.find(what); at != all.npos; at = all.find(what, at + 1)) {
            ++found;
        }
        return found;
    }
    void run_fast(std::chrono::seconds simulated)
    {
        const auto begin = std::clock();
        w.run_for(simulated);
        const auto took = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        const auto speed = static_cast<double>(simulated.count()) / took;
        std::printf("figure: %.0f simulated seconds a second of the processor\n", speed);
#ifdef NDEBUG // the release build
        BOOST_TEST(speed > 1000);
#endif
    }

    std::ostringstream text;
    std::streambuf* before;
    colock::testing::world w{1};
};

} // namespace world
