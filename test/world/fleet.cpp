// Very many clients come back: after all servers have started again, and after all clients were cut off until their sessions
// were over.
#include <colock/client.hpp>
#include <colock/mutex.hpp>
#include <support/sanitizers.hpp>

#include "simulated.hpp"
#include "world/process.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace world {

using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

constexpr std::size_t programs = 100;
// Of each program; with sanitizers a client takes forty times as long.
constexpr std::size_t clients = colock::test::optimized ? 100 : 4;
constexpr std::size_t locks = programs * clients / 2; // each has a holder and a waiter
constexpr auto session_timeout = 10s;

double seconds(instant t)
{
    return std::chrono::duration<double>{t}.count();
}

class fleet : observer {
public:
    fleet()
    {
        servers.observe(this);
        for (std::size_t p = 0; p != programs; ++p) {
            auto& on = *machines_.emplace_back(std::make_unique<machine>(
                time, "program" + std::to_string(p), static_cast<int>(chance_.between(-50, 50))));
            auto& in =
                *processes_.emplace_back(std::make_unique<process>(on, net, chance_.branch()));
            in.enter([&] {
                for (std::size_t i = 0; i != clients; ++i) {
                    auto& zk = clients_.emplace_back(std::make_unique<colock::client>(
                        in.context(), colock::client_options{.hosts = servers.hosts(),
                                                             .session_timeout = session_timeout}));
                    const auto lock = (p * clients + i) % locks;
                    asio::co_spawn(in.context(),
                                   take(*zk, "/fleet/" + std::to_string(lock), held_[p]),
                                   [](const std::exception_ptr& e) {
                                       if (e) {
                                           std::rethrow_exception(e);
                                       }
                                   });
                }
            });
        }
    }
    ~fleet()
    {
        for (auto& each : processes_) {
            each->kill();
        }
    }
    fleet(const fleet&) = delete;
    fleet& operator=(const fleet&) = delete;

    // When it has come true, seen every ten milliseconds.
    instant until(const std::function<bool()>& condition)
    {
        const auto end = time.now() + 300s;
        while (!condition() && time.now() < end) {
            time.run_until(time.now() + 10ms);
        }
        BOOST_REQUIRE(time.now() < end);
        return time.now();
    }

    [[nodiscard]] bool all(bool (*holds)(const colock::client&)) const
    {
        return std::ranges::all_of(clients_, [&](const auto& each) { return holds(*each); });
    }
    [[nodiscard]] static bool is_connected(const colock::client& c)
    {
        return c.state() == colock::connection_state::connected;
    }
    [[nodiscard]] std::size_t held() const
    {
        std::size_t sum = 0;
        for (std::size_t p = 0; p != programs; ++p) {
            sum += processes_[p]->look([&] { // a guard asks for the time
                return static_cast<std::size_t>(std::ranges::count_if(
                    held_[p], [](const auto& each) { return static_cast<bool>(each); }));
            });
        }
        return sum;
    }
    [[nodiscard]] std::uint64_t attempts() const
    {
        std::uint64_t sum = 0;
        for (const auto& each : clients_) {
            sum += each->stats().connect_attempts;
        }
        return sum;
    }

    void cut_all_off()
    {
        for (const auto& each : machines_) {
            for (std::size_t i = 0; i != servers.size(); ++i) {
                net.cut(*each, servers.machine_of(i));
                net.cut(servers.machine_of(i), *each);
            }
        }
    }

    timeline time;

private:
    random chance_{1};

public:
    network net{time, chance_.branch()};
    ensemble servers{time, net, chance_.branch()};
    std::vector<instant> joined; // when the nodes of contenders were made

private:
    void committed(const transaction& t) override
    {
        if (t.is_carried_out()) {
            for (const auto& each : t.changes) {
                if (each.what == change::kind::create && each.owner == t.session &&
                    t.session != 0) {
                    joined.push_back(time.now());
                }
            }
        }
    }

    using guards = std::deque<colock::unique_lock>;

    static asio::awaitable<void> take(colock::client& zk, std::string path, guards& held)
    {
        co_await zk.async_connect();
        colock::mutex m{zk, path};
        held.push_back(co_await m.async_lock());
    }

    std::vector<std::unique_ptr<machine>> machines_;
    std::vector<std::unique_ptr<process>> processes_;
    std::vector<std::unique_ptr<colock::client>> clients_;
    std::vector<guards> held_{programs};
};

void print_costs(const char* what, instant virtual_time)
{
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    std::printf("figure: %s: %.0f simulated seconds in %.0f s of a processor, %ld MB\n", what,
                seconds(virtual_time), static_cast<double>(std::clock()) / CLOCKS_PER_SEC,
                used.ru_maxrss / 1024);
}

} // namespace

BOOST_AUTO_TEST_SUITE(world_of_many)

BOOST_AUTO_TEST_CASE(all_come_back_soon_and_not_at_once)
{
    fleet f;
    f.until([&] { return f.held() == locks && f.joined.size() == 2 * locks; });
    print_costs("all have come", f.time.now());

    // All servers start again.
    const auto before = f.attempts();
    for (std::size_t i = 0; i != f.servers.size(); ++i) {
        f.servers.machine_of(i).kill();
    }
    f.time.run_until(f.time.now() + 3s);
    for (std::size_t i = 0; i != f.servers.size(); ++i) {
        f.servers.start(i);
    }
    const auto served = f.until([&] { return f.servers.leader().has_value(); });
    const auto back = f.until([&] { return f.all(fleet::is_connected); });
    std::printf("figure: %zu clients back %.2f s after there was a leader, by %.1f attempts each\n",
                2 * locks, seconds(back - served),
                static_cast<double>(f.attempts() - before) / (2 * locks));
    BOOST_TEST((back - served < 5s));
    BOOST_TEST(f.held() == locks);
    BOOST_TEST(f.joined.size() == 2 * locks); // nobody has lost its place

    // All are cut off until their sessions are over.
    f.cut_all_off();
    f.until([&] { return f.servers.decided().sessions().empty(); });
    f.joined.clear();
    const auto mended = f.time.now();
    f.net.mend_all();
    f.until([&] { return f.joined.size() == locks && f.all(fleet::is_connected); });
    const auto& all = f.joined;
    std::size_t most = 0; // in any tenth of a second
    for (auto first = all.begin(); first != all.end(); ++first) {
        const auto last = std::lower_bound(first, all.end(), *first + 100ms);
        most = std::max(most, static_cast<std::size_t>(last - first));
    }
    std::printf(
        "figure: %zu waiters whose sessions were over joined again %.2f to %.2f s after the "
        "network was back, %zu of them in a tenth of a second at most\n",
        locks, seconds(all.front() - mended), seconds(all.back() - mended), most);
    BOOST_TEST((all.back() - mended < 10s));
    BOOST_TEST(most < locks / 2);
    f.until([&] { return f.held() == locks; }); // each waiter has the lock of the former holder
    print_costs("all of it", f.time.now());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace world
