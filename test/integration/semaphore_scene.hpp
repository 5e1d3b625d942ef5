// Users of a semaphore, against a real server.
#pragma once

#include <support/lock_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace colock::test {

struct semaphore_scene : lock_scene {
    outcome<permit> start(semaphore s, std::int64_t n = 1)
    {
        outcome<permit> result;
        s.async_acquire(n, result.handler());
        return result;
    }
    permit acquire(semaphore s, std::int64_t n = 1) { return value_of(io, start(std::move(s), n)); }
    permit try_acquire(semaphore s, std::int64_t n = 1)
    {
        outcome<permit> result;
        s.async_try_acquire(n, result.handler());
        return value_of(io, result);
    }
    permit try_for(semaphore s, std::int64_t n, std::chrono::milliseconds limit)
    {
        outcome<permit> result;
        s.async_try_acquire_for(n, limit, result.handler());
        return value_of(io, result);
    }
    error_code release(permit& p)
    {
        outcome<> o;
        p.async_release(asio::bind_executor(io, o.handler()));
        return code_of(io, o);
    }
    std::size_t taken() { return queue_of(directory + "/leases").size(); }
    std::size_t queued() { return queue_of(directory + "/locks").size(); }
    void check_nothing_is_left()
    {
        BOOST_TEST(until([&] { return taken() == 0 && queued() == 0; }));
        for (auto& c : clients) {
            BOOST_TEST(until([&] { return c.stats().contenders == 0 && watches_of(c).empty(); }));
        }
        BOOST_TEST(until([&] { return child_watches() == 0; }));
    }
    // One that has to wait: returns when it is known that it does.
    outcome<permit> waiting(semaphore s, std::int64_t n = 1)
    {
        BOOST_TEST(until([&] { return queued() == 0; })); // those before have left
        auto result = start(std::move(s), n);
        BOOST_TEST(until([&] { return queued() == 1; }));
        BOOST_TEST(!result.done());
        return result;
    }
    static std::string number(std::int32_t n)
    {
        std::string bytes;
        for (int shift = 24; shift >= 0; shift -= 8) {
            bytes += static_cast<char>(n >> shift);
        }
        return bytes;
    }
};

} // namespace colock::test
