#include "health/bench_run.hpp"

#include <colock/mutex.hpp>

#include "connect/run_all.hpp"
#include "health/scratch.hpp"
#include "health/session_look.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <cmath>
#include <cstdio>

namespace colock::cli {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

namespace {

using workers = std::vector<asio::awaitable<void>>;

double ms(nanoseconds time)
{
    return std::chrono::duration<double, std::milli>(time).count();
}

std::string number(double value)
{
    char text[32];
    std::snprintf(text, sizeof text, value < 100 ? "%.1f" : "%.0f", value);
    std::string out{text};
    if (out.find('.') == out.npos) {
        for (auto at = static_cast<int>(out.size()) - 3; at > 0; at -= 3) {
            out.insert(static_cast<std::size_t>(at), 1, ',');
        }
    }
    return out;
}

measured of_times(std::string name, std::string title, std::vector<nanoseconds> times)
{
    measured m;
    m.samples = times.size();
    const auto q = quantiles_of(std::move(times));
    m.name = std::move(name);
    m.title = std::move(title);
    m.median_ms = ms(q.median);
    m.p99_ms = ms(q.p99);
    m.figure = precisely(q.median) + ", p99 " + precisely(q.p99);
    return m;
}

measured of_rate(std::string name, std::string title, std::uint64_t count, nanoseconds took)
{
    measured m;
    m.samples = count;
    m.name = std::move(name);
    m.title = std::move(title);
    m.per_second = static_cast<double>(count) / std::chrono::duration<double>(took).count();
    m.figure = number(m.per_second) + " a second";
    return m;
}

asio::awaitable<std::vector<nanoseconds>>
times_of(std::function<asio::awaitable<nanoseconds>()> one, nanoseconds time)
{
    std::vector<nanoseconds> times;
    for (const auto end = clock::now() + time; times.empty() || clock::now() < end;) {
        times.push_back(co_await one());
    }
    co_return times;
}

asio::awaitable<nanoseconds> time_of_lock(mutex& lock)
{
    const auto begin = clock::now();
    auto held = co_await lock.async_lock(asio::use_awaitable);
    co_await held.async_unlock(asio::use_awaitable);
    co_return clock::now() - begin;
}

struct turns {
    clock::time_point end;
    std::uint64_t count = 0;
    std::size_t last = 0;
};

// Takes the lock again and again. Only grants that follow another user's count.
asio::awaitable<void> take_turns(mutex lock, std::size_t user, turns& all)
{
    while (clock::now() < all.end) {
        auto held = co_await lock.async_lock(asio::use_awaitable);
        all.count += all.last != user;
        all.last = user;
        co_await held.async_unlock(asio::use_awaitable);
    }
}

// Each of the users has a client of its own, or all have the first one.
asio::awaitable<measured> hand_over(const std::vector<std::unique_ptr<client>>& clients,
                                    std::string path, std::size_t users, bool alone,
                                    nanoseconds time)
{
    turns all;
    const auto begin = clock::now();
    all.end = begin + time;
    workers bodies;
    for (std::size_t i = 0; i < users; ++i) {
        mutex lock{*clients[alone ? 0 : i], path};
        bodies.push_back(take_turns(std::move(lock), i + 1, all));
    }
    co_await run_all(std::move(bodies));
    const auto count = std::to_string(users);
    co_return alone ? of_rate("hand_off_in_memory", "hand-off among 8 waiters of one client",
                              all.count, clock::now() - begin)
                    : of_rate("hand_over_" + count, "hand-over among " + count + " clients",
                              all.count, clock::now() - begin);
}

std::string limit_of(const measured& m)
{
    const auto each = 1000 / m.per_second; // ms
    constexpr double work = 10;
    const auto shown = precisely(nanoseconds{std::llround(each * 1'000'000)});
    return "Each takes " + shown + ". With work under the lock it is 1/(" + shown +
           " + work) a second, however many clients there are: with 10 ms of work, " +
           number(1000 / (each + work)) + '.';
}

} // namespace

asio::awaitable<void> run_bench(const std::vector<std::unique_ptr<client>>& clients,
                                std::string path, std::chrono::milliseconds time,
                                const std::function<void(const measured&)>& report)
{
    const nanoseconds each = time / 6;
    auto& first = *clients.front();
    const auto node = child_of(path, "alive");

    std::function<asio::awaitable<nanoseconds>()> one = [&] { return time_of_read(first, node); };
    auto read = of_times("read", "read", co_await times_of(one, each));
    read.meaning = "To ask one server and get its answer.";
    report(read);

    one = [&] { return time_of_write(first, node); };
    auto write = of_times("write", "write", co_await times_of(one, each));
    write.meaning =
        number(write.median_ms / read.median_ms) +
        " times a read: a majority of the servers has it on disk before it is answered. "
        "What is slow here makes each lock slow; see to disks, and to the way between "
        "servers.";
    report(write);

    mutex free{first, child_of(path, "free")};
    one = [&] { return time_of_lock(free); };
    auto cycle =
        of_times("lock_unlock", "lock and unlock, nobody else there", co_await times_of(one, each));
    cycle.meaning =
        number(cycle.median_ms / write.median_ms) +
        " writes: one to take the lock, one to release it. One client that does nothing else "
        "does it " +
        number(1000 / cycle.median_ms) +
        " times a second. lock_options::linger saves both while it comes again.";
    report(cycle);

    auto two = co_await hand_over(clients, child_of(path, "two"), 2, false, each);
    two.meaning = limit_of(two);
    report(two);

    auto eight = co_await hand_over(clients, child_of(path, "eight"), bench_clients, false, each);
    eight.meaning = limit_of(eight) +
                    " A longer queue costs no more: a release wakes only the next in line. Several "
                    "locks, each for a part of the work, raise the limit.";
    report(eight);

    auto memory = co_await hand_over(clients, child_of(path, "memory"), bench_clients, true, each);
    memory.meaning =
        number(memory.per_second / two.per_second) +
        " times a hand-over: waiters of one client hand the lock on in memory. Let all parts of a "
        "process share one client.";
    report(memory);
}

} // namespace colock::cli
