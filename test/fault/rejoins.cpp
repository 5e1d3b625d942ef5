// Waiters whose sessions have expired join again: each of them, in a bounded time, and those of several clients not at once.
#include <support/lock_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace colock::test::rejoins_test {

namespace {

using std::chrono::milliseconds;

// When the server made the nodes of a queue, the first one earliest.
std::vector<milliseconds> creations(lock_scene& s)
{
    std::vector<milliseconds> all;
    for (const auto& name : s.queue()) {
        all.emplace_back(s.admin.exists(s.directory + '/' + name).value().ctime);
    }
    return all;
}

milliseconds since_1970()
{
    return std::chrono::duration_cast<milliseconds>(
        std::chrono::system_clock::now().time_since_epoch());
}

} // namespace

BOOST_AUTO_TEST_SUITE(rejoins)

// They were cut off at the same moment, and their sessions end together. By then each waits for its own next attempt. There it
// learns that its session is over, and begins another one at once.
BOOST_AUTO_TEST_CASE(waiters_of_several_clients_are_back_within_a_pause_and_spread_over_it)
{
    constexpr std::size_t clients = 60;
    constexpr milliseconds pause = 3s, slack = 5s;
    lock_scene s;
    tcp_proxy proxy = link_proxy(s.server);
    auto& holder = s.connect();
    auto held = s.hold(holder);
    std::vector<outcome<unique_lock>> waiting;
    for (std::size_t i = 0; i != clients; ++i) {
        auto& c = s.connect_through(proxy, {.backoff_min = pause, .backoff_max = pause});
        waiting.push_back(s.start_waiter(c));
    }
    proxy.refuse(true);
    proxy.cut();
    std::vector<session_identity> victims;
    for (auto& c : s.clients) {
        if (&c != &holder) {
            victims.push_back({c.session_id(), password_of(c)});
        }
    }
    auto killed = std::async(std::launch::async, [&] { // the clients go on meanwhile
        return std::ranges::none_of(victims, [&](const auto& each) {
            return kill_session(s.server.connect_string(), each).has_value();
        });
    });
    BOOST_TEST(s.until([&] { return killed.wait_for(0s) == std::future_status::ready; }));
    BOOST_TEST(killed.get());
    BOOST_TEST(s.queue().size() == 1U);
    proxy.refuse(false);
    const auto served = since_1970();
    BOOST_TEST(s.until([&] { return s.queue().size() == 1 + clients; }));

    auto made = creations(s);
    made.erase(made.begin()); // the holder's
    const auto last = made.back() - served;
    const auto middle = made[clients * 3 / 4] - made[clients / 4];
    std::cout << "figure: " << clients << " waiters joined again within " << last.count()
              << " ms, and the middle half of them within " << middle.count()
              << " ms; pauses are up to " << pause.count() << " ms\n";
    BOOST_TEST((last <= pause + slack));
    BOOST_TEST((middle >= pause / 15));
    for (const auto& o : waiting) {
        BOOST_TEST(!o.done());
    }
    BOOST_TEST(s.unlock(held) == error_code{});
    BOOST_TEST(s.until([&] { return std::ranges::any_of(waiting, &outcome<unique_lock>::ok); }));
}

// They share a connection, and so they come one after the other. Others are served meanwhile.
BOOST_AUTO_TEST_CASE(waiters_of_one_client_are_back_soon_with_a_few_requests_each)
{
    constexpr std::size_t locks = 1'000;
    lock_scene s;
    const auto take_all = [&](client& c) {
        std::vector<outcome<unique_lock>> all(locks);
        for (std::size_t i = 0; i != locks; ++i) {
            mutex{c, s.directory + '/' + std::to_string(i)}.async_lock(all[i].handler());
        }
        return all;
    };
    const auto has_all_nodes = [&](const client& c) {
        const auto all = s.server.ephemerals();
        const auto at = all.find(c.session_id());
        return at != all.end() && at->second.size() == locks;
    };
    auto& holder = s.connect();
    auto held = take_all(holder);
    BOOST_TEST(s.until([&] { return std::ranges::all_of(held, &outcome<unique_lock>::ok); }));
    auto& c = s.connect();
    auto waiting = take_all(c);
    BOOST_TEST(s.until([&] { return has_all_nodes(c) && c.stats().in_flight == 0; }));

    const auto before = c.stats();
    auto& other = s.connect();
    BOOST_TEST(!kill_session(s.server.connect_string(), c.session_id(), password_of(c)));
    const auto begin = std::chrono::steady_clock::now();
    std::chrono::nanoseconds longest{0};
    std::size_t most = 0;
    const auto read = [&] { // by somebody else
        const outcome<std::optional<node_stat>> o;
        const auto since = std::chrono::steady_clock::now();
        other.async_exists("/", o.handler());
        run_until(s.io, [&] {
            most = std::max<std::size_t>(most, c.stats().in_flight);
            return o.done();
        });
        longest =
            std::max<std::chrono::nanoseconds>(longest, std::chrono::steady_clock::now() - since);
    };
    while (c.stats().sessions == before.sessions || !has_all_nodes(c)) {
        read();
        BOOST_REQUIRE((std::chrono::steady_clock::now() - begin < long_enough));
    }
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    BOOST_TEST(s.until([&] { return c.stats().in_flight == 0; }));
    const auto requests = c.stats().requests - before.requests;
    std::cout << "figure: " << locks << " waiters of one client joined again in " << took.count()
              << " ms, by " << requests << " requests, " << most
              << " of them under way at once; a read of another client took "
              << std::chrono::duration<double, std::milli>{longest}.count() << " ms at most\n";
    BOOST_TEST(took.count() < 20'000);
    BOOST_TEST(requests < 6 * locks);

    for (const auto& o : waiting) {
        BOOST_REQUIRE(!o.done());
    }
    held.clear();
    for (const auto& o : waiting) {
        BOOST_TEST(static_cast<bool>(value_of(s.io, o)));
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::rejoins_test
