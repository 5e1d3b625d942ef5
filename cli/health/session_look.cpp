#include "health/session_look.hpp"

#include "connect/awaiting.hpp"
#include "connect/duration.hpp"
#include "connect/until_signal.hpp"
#include "health/scratch.hpp"
#include "program/failure.hpp"

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>

namespace colock::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using boost::system::system_error;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

quantiles quantiles_of(std::vector<nanoseconds> times)
{
    std::ranges::sort(times);
    return {times[times.size() / 2], times[(times.size() - 1) * 99 / 100]};
}

std::string precisely(nanoseconds time)
{
    const auto us = static_cast<double>(time.count()) / 1000;
    char text[32];
    if (us < 100) {
        std::snprintf(text, sizeof text, "%.1f us", us);
    } else if (us < 100'000) {
        std::snprintf(text, sizeof text, "%.2f ms", us / 1000);
    } else {
        std::snprintf(text, sizeof text, "%.1f s", us / 1'000'000);
    }
    return text;
}

asio::awaitable<nanoseconds> time_of_read(client& zk, std::string path)
{
    const auto begin = clock::now();
    co_await zk.async_exists(path, asio::use_awaitable);
    co_return clock::now() - begin;
}

asio::awaitable<nanoseconds> time_of_write(client& zk, std::string path)
{
    const auto begin = clock::now();
    co_await zk.async_set(path, std::string{}, asio::use_awaitable);
    co_return clock::now() - begin;
}

namespace {

asio::awaitable<void> look_at_latency(client& zk, std::string node, findings& found)
{
    constexpr int reads = 100;
    constexpr int writes = 50;
    std::vector<nanoseconds> times;
    for (int i = 0; i < reads; ++i) {
        times.push_back(co_await time_of_read(zk, node));
    }
    const auto r = quantiles_of(std::move(times));
    times.clear();
    for (int i = 0; i < writes; ++i) {
        times.push_back(co_await time_of_write(zk, node));
    }
    const auto w = quantiles_of(std::move(times));
    // A client gives a silent server up after two thirds of the session.
    const bool slow = w.p99 > zk.session_timeout() / 5;
    found.add(slow ? severity::warning : severity::ok, "latency",
              "a read takes " + precisely(r.median) + " (p99 " + precisely(r.p99) + "), a write " +
                  precisely(w.median) + " (p99 " + precisely(w.p99) + "); " +
                  (slow ? "that is long for sessions of " + shown(zk.session_timeout()) +
                              ": see to the disks of the servers, or set a longer --session-timeout"
                        : "a free lock costs two such writes: one to take it, one to release it"));
}

void judge_clock(milliseconds before, milliseconds after, std::int64_t ctime, findings& found)
{
    // Somewhere between the two the server has looked at its clock.
    const auto server = milliseconds{ctime};
    const auto off = server < before ? before - server : server > after ? server - after : 0ms;
    const auto how = std::string{server < before ? "behind" : "ahead of"} + " ours";
    if (off > 2s) {
        found.add(
            severity::warning, "clock",
            "the servers' clock is " + shown(off) + ' ' + how +
                ": locks do not depend on it, but ages of nodes do; let both keep time by NTP",
            "timedatectl set-ntp true");
    } else {
        found.good("clock", off < 100ms ? "the servers' clock agrees with ours"
                                        : "the servers' clock is " + shown(off) + ' ' + how);
    }
}

void look_at_boot_clock(findings& found)
{
    timespec now{};
    const int timer = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    const bool there = ::clock_gettime(CLOCK_BOOTTIME, &now) == 0 && timer >= 0;
    if (timer >= 0) {
        ::close(timer);
    }
    found.add(there ? severity::ok : severity::error, "suspend",
              there ? "this system has a clock that goes on while it sleeps"
                    : "this system has no clock that goes on while it sleeps: a holder does not "
                      "notice that it lost its lock meanwhile; let it not be suspended",
              there ? std::string{}
                    : "systemctl mask sleep.target suspend.target hibernate.target");
}

milliseconds since_1970()
{
    return std::chrono::duration_cast<milliseconds>(
        std::chrono::system_clock::now().time_since_epoch());
}

asio::awaitable<void> look_with_nodes(client& zk, std::string scratch, findings& found)
{
    const auto before = since_1970();
    const auto [refused, made] =
        co_await zk.async_create(scratch, std::string{}, create_mode::container, no_throw);
    if (outcome_unknown(refused)) {
        throw system_error{refused};
    }
    if (refused) {
        const auto where = parent_of(scratch);
        found.add(severity::unknown, "container",
                  "no node can be made in " + where + ": " + in_own_words(refused.message()) +
                      "; name a PATH where we may, or an identity that may by --auth");
        found.add(severity::unknown, "latency", "writes need a node, see above");
        co_return;
    }
    judge_clock(before, since_1970(), made.stat.ctime, found);
    found.good("container",
               "the servers have containers: the directory of a lock goes when nobody uses it");
    const auto alive = child_of(scratch, "alive");
    const auto [no_ephemeral, at_once] =
        co_await zk.async_create(alive, std::string{}, create_mode::ephemeral, no_throw);
    if (no_ephemeral == zookeeper_errc::ephemeral_on_local_session) {
        found.add(severity::error, "session",
                  "the servers give local sessions, which cannot have the nodes of a lock; set "
                  "localSessionsUpgradingEnabled=true, or leave out localSessionsEnabled, in "
                  "zoo.cfg");
        co_return;
    }
    if (no_ephemeral) {
        throw system_error{no_ephemeral};
    }
    co_await look_at_latency(zk, alive, found);
}

} // namespace

asio::awaitable<void> look_at_session(client& zk, std::string path, findings& found)
{
    look_at_boot_clock(found);
    const auto place = co_await place_for_scratch(zk, path);
    const auto scratch = child_of(place, unique_name(".colock-doctor-"));
    std::exception_ptr failed;
    try {
        co_await look_with_nodes(zk, scratch, found);
        co_await remove_scratch(zk, scratch);
        const auto now = co_await asio::this_coro::cancellation_state;
        if (now.cancelled() == asio::cancellation_type::none) {
            co_return;
        }
        failed = std::make_exception_ptr(system_error{asio::error::operation_aborted});
    } catch (const system_error&) {
        failed = std::current_exception();
    }
    co_await keep_on();
    co_await remove_scratch(zk, scratch);
    std::rethrow_exception(failed);
}

} // namespace colock::cli
