// Locks whose holders lose the leader of an ensemble: they are told before the next one is granted.
//
// All times are of one clock, of one process. Each scenario has fifty locks; each has a holder with a session
// of its own, and a waiter on the other side.
#include <colock/colock.hpp>
#include <support/admin_session.hpp>
#include <support/link.hpp>
#include <support/metronome.hpp>
#include <support/outcome.hpp>
#include <support/print.hpp>
#include <support/private_network.hpp>
#include <support/run.hpp>
#include <support/zookeeper_server.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iomanip>
#include <iostream>
#include <list>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace colock::test::lock_partition_test {

using namespace std::chrono_literals;

namespace {

using clock_type = std::chrono::steady_clock;
using time_point = clock_type::time_point;
using seconds = std::chrono::duration<double>;

constexpr int locks = 50;
constexpr auto tick = 2s;
constexpr std::chrono::milliseconds stagger{15}; // between holders: all within a second

// A test that cannot run must not look as if it had passed.
struct needs_a_network {
    needs_a_network()
    {
        if (const auto why = private_network::obstacle(); !why.empty()) {
            std::cout << "skipped: " << why << std::endl;
            std::_Exit(77);
        }
    }
};

asio::awaitable<void> for_ever()
{
    asio::steady_timer timer{co_await asio::this_coro::executor, time_point::max()};
    co_await timer.async_wait(asio::use_awaitable);
}

// "min 0.31, median 1.20, max 2.28 s"
std::string distribution(std::vector<seconds> values)
{
    std::ranges::sort(values);
    std::ostringstream text;
    text << std::fixed << std::setprecision(2);
    if (values.empty()) {
        text << "none";
    } else {
        text << "min " << values.front().count() << ", median " << values[values.size() / 2].count()
             << ", max " << values.back().count() << " s";
    }
    return text.str();
}

struct holder {
    holder(asio::io_context& io, const std::string& hosts, std::chrono::milliseconds session,
           int number)
        : zk{io, link_client({.hosts = hosts,
                              .session_timeout = session,
                              .connect_timeout = 30s,
                              .tick = tick})},
          path{"/turns/" + std::to_string(number)}
    {
    }

    client zk;
    const std::string path;
    const unique_lock* guard = nullptr; // while the body runs

    // What the guard proves as its heartbeats are acknowledged, and the write that follows at once.
    time_point safe_until;
    int proofs = 0;
    time_point written;
    int unanswered = 0;
    time_point acknowledged; // when the answer came

    std::optional<time_point> cancelled; // the body
    bool connected = false;              // then
    error_code why;
    error_code result;                 // of the whole operation
    std::optional<time_point> granted; // the next one
    unique_lock next;
};

asio::awaitable<void> hold(holder& h, std::chrono::milliseconds offset)
{
    asio::steady_timer timer{co_await asio::this_coro::executor, offset};
    co_await timer.async_wait(asio::use_awaitable);
    co_await h.zk.async_connect(asio::use_awaitable);
    mutex turns{h.zk, h.path}; // not within the co_await: GCC 12 would destroy its options twice
    try {
        co_await turns.async_with_lock([&h](const unique_lock& guard) -> asio::awaitable<void> {
            h.guard = &guard;
            std::exception_ptr stopped;
            try {
                co_await for_ever();
            } catch (...) {
                stopped = std::current_exception();
            }
            h.cancelled = clock_type::now();
            h.connected = h.zk.state() == connection_state::connected;
            h.why = guard.loss_reason();
            h.guard = nullptr;
            std::rethrow_exception(stopped);
        });
    } catch (const boost::system::system_error& e) {
        h.result = e.code();
    }
}

// Reads all the time from one server, and writes nothing.
class reader {
public:
    reader(asio::io_context& io, const std::string& hosts)
        : zk_{io, link_client({.hosts = hosts, .session_timeout = 40s, .tick = tick})}, timer_{io}
    {
        zk_.async_connect([this](error_code failed) {
            if (!failed) {
                read();
            }
        });
    }

    [[nodiscard]] time_point last_answer() const noexcept { return last_answer_; }

private:
    void read()
    {
        zk_.async_get("/beat", [this](error_code ec, auto&&) {
            if (!ec) {
                last_answer_ = clock_type::now();
                timer_.expires_after(50ms);
                timer_.async_wait([this](error_code late) {
                    if (!late) {
                        read();
                    }
                });
            }
        });
    }

    client zk_;
    asio::steady_timer timer_;
    time_point last_answer_;
};

struct partition_scene {
    explicit partition_scene(std::chrono::milliseconds t) : session{t} {}
    partition_scene(const partition_scene&) = delete;
    partition_scene& operator=(const partition_scene&) = delete;

    static zookeeper_options options()
    {
        zookeeper_options o;
        o.tick_time = tick;
        // One that is cut off serves its clients for as long as the longest of the scenarios.
        o.sync_limit = 25;
        return o;
    }

    std::string hosts_without(std::size_t i, bool secure = false) const
    {
        std::string all;
        for (std::size_t each = 0; each != servers.size(); ++each) {
            if (each != i) {
                all += (all.empty() ? "" : ",") + (secure ? servers[each].secure_connect_string()
                                                          : servers[each].connect_string());
            }
        }
        return all;
    }

    template <class Condition>
    bool until(Condition&& condition, std::chrono::milliseconds limit = long_enough)
    {
        return becomes_true(io, condition, limit);
    }

    // Everybody in place: holders reach this server only, all others the other two.
    void begin(std::size_t at)
    {
        beat.emplace(hosts_without(at));
        BOOST_REQUIRE(until([&] { return beat->beats() > 0; }));
        admin_session admin{hosts_without(at)};
        admin.create_path("/turns");
        // Heartbeats have a fixed period; so those of all holders come within a second, then as now.
        for (int i = 0; i != locks; ++i) {
            auto& h = holders.emplace_back(io, link_hosts(servers[at]), session, i);
            asio::co_spawn(io, hold(h, i * stagger), asio::detached);
        }
        BOOST_REQUIRE(until([&] {
            return std::ranges::all_of(holders, [](const auto& h) { return h.guard != nullptr; });
        }));
        next.emplace(io, link_client({.hosts = hosts_without(at, over_tls()),
                                      .session_timeout = 40s,
                                      .connect_timeout = 30s,
                                      .tick = tick}));
        outcome<> connected;
        next->async_connect(connected.handler());
        value_of(io, connected);
        for (auto& h : holders) {
            mutex{*next, h.path}.async_lock([&h](error_code ec, unique_lock held) {
                if (!ec) {
                    h.granted = clock_type::now();
                    h.next = std::move(held);
                }
            });
        }
        BOOST_REQUIRE(until([&] {
            return std::ranges::all_of(
                holders, [&](const auto& h) { return admin.children(h.path).size() == 2; });
        }));
        admin.close();
    }

    // Waits until each holder had its last heartbeat acknowledged within the last second. What anybody
    // would take for a proof is a write of the user that was sent behind it, and acknowledged. False when other work
    // on the machine keeps the heartbeats apart: the guarantee holds all the same, but the obvious formula, which is
    // computed beside, need not be wrong then.
    bool heartbeats_come_together()
    {
        for (int attempt = 0; attempt != 10; ++attempt) {
            for (auto& h : holders) {
                BOOST_REQUIRE(h.guard);
                h.safe_until = h.guard->safe_until();
                h.proofs = 0;
            }
            const auto together = [&] {
                std::ranges::for_each(holders, note_proof);
                const auto since = clock_type::now() - 1s;
                return std::ranges::all_of(holders, [&](const auto& h) {
                    return h.proofs > 2 && h.unanswered == 0 && h.acknowledged > since;
                });
            };
            if (until(together, session * 2 / 3 + 2s)) {
                return true;
            }
            for (const auto& h : holders) {
                BOOST_TEST_MESSAGE(h.path << ": " << h.proofs << " proofs, " << h.unanswered
                                          << " unanswered, the last answer "
                                          << seconds{clock_type::now() - h.acknowledged}.count()
                                          << " s ago");
            }
            // A busy machine has driven them apart. The next heartbeat comes a period after the last proof; and
            // a write proves something when there has been another one a tick before.
            auto next_one = clock_type::now();
            for (int round = 0; round != 4; ++round) {
                for (auto& h : holders) {
                    until([&] { return clock_type::now() >= next_one; });
                    write(h);
                    next_one += stagger;
                }
            }
        }
        return false;
    }

    static void note_proof(holder& h)
    {
        BOOST_REQUIRE(h.guard);
        const auto bound = h.guard->safe_until();
        if (bound - h.safe_until < 10ms) { // converted from another clock, it wobbles
            return;
        }
        h.safe_until = bound;
        ++h.proofs;
        write(h);
    }

    static void write(holder& h)
    {
        h.written = clock_type::now();
        ++h.unanswered;
        h.zk.async_set("/beat", "", any_version, [&h](error_code ec, auto&&) {
            --h.unanswered;
            if (!ec) {
                h.acknowledged = clock_type::now();
            }
        });
    }

    // The disturbance, and what comes of it.
    void lose(const std::string& what, const std::function<void()>& disturb)
    {
        came_together = heartbeats_come_together();
        disturbed = clock_type::now();
        disturb();
        BOOST_TEST(until(
            [&] {
                return std::ranges::all_of(holders,
                                           [](const auto& h) { return h.granted.has_value(); });
            },
            session + 30s));
        // Whoever is told too late is told all the same.
        BOOST_TEST(until([&] {
            return std::ranges::all_of(holders,
                                       [](const auto& h) { return h.cancelled.has_value(); });
        }));
        report(what);
        for (const auto& h : holders) {
            BOOST_REQUIRE(h.granted.has_value());
            BOOST_REQUIRE(h.cancelled.has_value());
            BOOST_TEST((*h.cancelled < *h.granted));
            BOOST_TEST(h.why == errc::safe_until_passed);
            BOOST_TEST(static_cast<bool>(h.next));
        }
    }

    // How many would have gone on after the grant of the next one by the formula that suggests itself:
    // "the session lives for a time-out from when the last acknowledged write was sent".
    std::vector<seconds> late_by_the_obvious_formula() const
    {
        std::vector<seconds> late;
        for (const auto& h : holders) {
            if (h.granted && h.written + session > *h.granted) {
                late.push_back(h.written + session - *h.granted);
            }
        }
        return late;
    }

    void report(const std::string& what) const
    {
        std::vector<seconds> ages;
        std::vector<seconds> held;
        std::vector<seconds> leads;
        int before = 0;
        int connected = 0;
        for (const auto& h : holders) {
            ages.push_back(disturbed - h.acknowledged);
            if (h.cancelled && h.granted) {
                before += *h.cancelled < *h.granted ? 1 : 0;
                connected += h.connected ? 1 : 0;
                held.push_back(*h.cancelled - disturbed);
                leads.push_back(*h.granted - *h.cancelled);
            }
        }
        const auto late = late_by_the_obvious_formula();
        const auto line = [&]() -> std::ostream& {
            return std::cout << "figure: " << what << ", session " << seconds{session}.count()
                             << " s: ";
        };
        line() << before << " of " << locks << " cancelled before the next was granted, by "
               << distribution(leads) << '\n';
        line() << "last acknowledged write " << distribution(ages) << " before; cancelled "
               << distribution(held) << " after, " << connected << " of them connected\n";
        line() << "the obvious formula is late for " << late.size() << ", by " << distribution(late)
               << (came_together ? "" : "; the heartbeats did not come together") << std::endl;
    }

    const std::chrono::milliseconds session;
    private_network network{3};
    zookeeper_ensemble servers{link_servers(options()), network.places()};
    asio::io_context io;
    std::optional<metronome> beat;
    std::list<holder> holders;
    std::optional<client> next; // waits for all of them
    time_point disturbed;
    bool came_together = false; // the heartbeats before that
};

} // namespace

BOOST_TEST_GLOBAL_FIXTURE(needs_a_network);

BOOST_AUTO_TEST_SUITE(lock_partition)

BOOST_AUTO_TEST_CASE(a_host_that_is_cut_off_serves_its_clients_and_hears_nothing_of_the_others)
{
    private_network network{3};
    zookeeper_ensemble servers{link_servers(partition_scene::options()), network.places()};
    const auto leader = servers.wait_for_leader();
    const auto follower = servers.followers().front();
    const metronome beat{servers[leader].connect_string()};
    admin_session there{servers[leader].connect_string()};
    there.create("/before");
    admin_session here{servers[follower].connect_string()};
    here.sync();
    network.cut(follower, lan::peers);
    there.create("/after"); // the majority goes on
    BOOST_TEST(here.exists("/before").has_value());
    BOOST_TEST(!here.exists("/after").has_value());
    network.restore(follower, lan::peers);
    here.sync();
    BOOST_TEST(here.exists("/after").has_value());

    network.cut(follower, lan::clients);
    BOOST_TEST(servers[follower].mode(100ms) == "");
    network.restore(follower, lan::clients);
    BOOST_TEST(servers[follower].mode(10s) == "follower");
}

BOOST_AUTO_TEST_CASE(G5_a_holder_whose_follower_is_cut_off_is_told_before_the_next_is_granted)
{
    // How many the obvious formula gets wrong, if that could be measured.
    const auto cut_off = [](std::chrono::milliseconds session) {
        partition_scene s{session};
        const auto follower = s.servers.followers().front();
        s.begin(follower);
        reader reads{s.io, link_hosts(s.servers[follower])};
        s.lose("follower cut off", [&] {
            BOOST_REQUIRE((reads.last_answer() > clock_type::now() - 1s));
            s.network.cut(follower, lan::peers);
        });
        // All this time the follower had clients, and answered them.
        for (const auto& h : s.holders) {
            BOOST_TEST((reads.last_answer() > *h.cancelled));
        }
        return s.came_together ? std::optional{s.late_by_the_obvious_formula().size()}
                               : std::nullopt;
    };
    cut_off(10s);
    // With so few ticks to a session the leader's rounding up can hide a wrong formula. With fifteen of them
    // it shows, unless the follower happened to answer the leader's ping right before the cut.
    std::size_t measured = 0;
    std::size_t wrong = 0;
    for (int again = 0; wrong == 0 && again != 3; ++again) {
        if (const auto here = cut_off(30s)) {
            ++measured;
            wrong += *here;
        }
    }
    BOOST_TEST((wrong > 0 || measured < 3));
}

BOOST_AUTO_TEST_CASE(G5_a_holder_whose_own_link_is_cut_is_told_before_the_next_is_granted)
{
    for (const auto session : {10s, 30s}) {
        partition_scene s{session};
        const auto follower = s.servers.followers().front();
        s.begin(follower);
        s.lose("own link cut", [&] { s.network.cut(follower, lan::clients); });
    }
}

BOOST_AUTO_TEST_CASE(G5_a_holder_whose_follower_is_stopped_is_told_before_the_next_is_granted)
{
    for (const auto session : {10s, 30s}) {
        partition_scene s{session};
        const auto follower = s.servers.followers().front();
        s.begin(follower);
        s.lose("follower stopped", [&] { s.servers[follower].stop_process(); });
    }
}

BOOST_AUTO_TEST_CASE(G5_a_holder_whose_leader_is_killed_is_told_before_the_next_is_granted)
{
    for (const auto session : {10s, 30s}) {
        partition_scene s{session};
        const auto leader = s.servers.wait_for_leader();
        s.begin(leader); // nobody has another server to go to
        s.lose("leader killed", [&] { s.servers[leader].kill(); });
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::lock_partition_test
