// What each recipe of the family costs to take: requests the server received, and round trips. Prints the figures.
#include <support/figures.hpp>
#include <support/lock_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::family_figures_test {

namespace {

using clock = std::chrono::steady_clock;

// Never pings within a test.
const client_options quiet{.session_timeout = 40s};

// A recipe: what is measured, and what takes it back.
struct recipe {
    std::string name;
    double requests;
    int round_trips;
    std::function<void()> take;
    std::function<void()> give_back = [] {};
};

// Nobody else asks for anything meanwhile, but for a holder's look at his own node.
void check_requests(lock_scene& s, const client& c, const client& other, const recipe& r)
{
    std::vector<double> received;
    for (int i = 0; i != 21; ++i) {
        BOOST_REQUIRE(s.until([&] { return other.stats().in_flight == 0; }));
        const auto before = s.server.packets_received();
        const auto others = other.stats().requests;
        r.take();
        BOOST_REQUIRE(
            s.until([&] { return c.stats().in_flight == 0 && other.stats().in_flight == 0; }));
        received.push_back(
            static_cast<double>(s.server.packets_received() - before -
                                static_cast<std::int64_t>(other.stats().requests - others)));
        r.give_back();
    }
    // A holder that a busy machine keeps for 10 ms looks at its node, too. The fewest requests are what the recipe needs.
    const auto each = quantile(received, 0);
    std::cout << "figure: " << r.name << ": " << each << " requests\n";
    BOOST_TEST(each == r.requests, r.name << " takes " << each << " requests");
}

// Over a proxy with a round trip of 40 ms. One round trip more would be one more, whatever the machine does: what it
// computes may take up to half of one, which is far more than a sanitizer on a busy machine needs.
void check_round_trips(lock_scene& s, client& c, const recipe& r)
{
    const bool fast = best_of_rounds([&] {
        std::vector<double> reads;
        std::vector<double> takes;
        for (int i = 0; i != 9; ++i) {
            auto begin = clock::now();
            outcome<children_result> read;
            c.async_children("/", read.handler());
            static_cast<void>(value_of(s.io, read));
            reads.push_back(milliseconds(clock::now() - begin));

            begin = clock::now();
            r.take();
            takes.push_back(milliseconds(clock::now() - begin));
            r.give_back();
        }
        const auto taken = quantile(takes, 0.5) / quantile(reads, 0.5);
        std::cout << "figure: " << r.name << ", 40 ms proxy: " << taken << " round trips\n";
        return taken < r.round_trips + 0.5;
    });
    BOOST_TEST(fast, r.name << " takes more than " << r.round_trips << " round trips");
}

struct family_scene : lock_scene {
    tcp_proxy proxy{server.connect_string()};
    client& c = connect_through(proxy, quiet);
    client& other = connect(quiet);

    template <class Held, class Start>
    Held get(Start start)
    {
        outcome<Held> o;
        start(o.handler());
        return value_of(io, o);
    }

    // In the background it would be counted with what follows.
    template <class Guard>
    void give_back(Guard& held)
    {
        outcome<> o;
        held.async_unlock(o.handler());
        BOOST_REQUIRE(code_of(io, o) == error_code{});
    }

    void check(const recipe& r)
    {
        r.take(); // the directories are there from now on
        r.give_back();
        check_requests(*this, c, other, r);
        proxy.set_delay(20ms);
        check_round_trips(*this, c, r);
        proxy.set_delay(0ms);
    }

    std::string path(const char* name) const { return directory + '/' + name; }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(family_figures, family_scene)

BOOST_AUTO_TEST_CASE(a_mutex_takes_one_round_trip)
{
    mutex m{c, path("mutex")};
    unique_lock held;
    check({"mutex", 2, 1,
           [&] { held = get<unique_lock>([&](auto h) { m.async_lock(std::move(h)); }); },
           [&] { give_back(held); }});
}

BOOST_AUTO_TEST_CASE(a_read_lock_takes_one_round_trip)
{
    shared_mutex m{c, path("shared")};
    shared_lock held;
    check({"read lock", 2, 1,
           [&] { held = get<shared_lock>([&](auto h) { m.async_lock_shared(std::move(h)); }); },
           [&] { give_back(held); }});
}

BOOST_AUTO_TEST_CASE(a_write_lock_takes_one_round_trip)
{
    shared_mutex m{c, path("shared")};
    unique_lock held;
    check({"write lock", 2, 1,
           [&] { held = get<unique_lock>([&](auto h) { m.async_lock(std::move(h)); }); },
           [&] { give_back(held); }});
}

BOOST_AUTO_TEST_CASE(a_lock_without_a_queue_takes_one_write)
{
    single_node_mutex m{c, path("single")};
    unique_lock held;
    check({"single_node_mutex", 1, 1,
           [&] { held = get<unique_lock>([&](auto h) { m.async_lock(std::move(h)); }); },
           [&] { give_back(held); }});
    single_node_mutex theirs{other, path("single")};
    held = get<unique_lock>([&](auto h) { theirs.async_lock(std::move(h)); });
    check({"failed try of a single_node_mutex", 1, 1, [&] {
               BOOST_REQUIRE(!get<unique_lock>([&](auto h) { m.async_try_lock(std::move(h)); }));
           }});
}

BOOST_AUTO_TEST_CASE(permits_take_two_round_trips)
{
    semaphore all{c, path("semaphore"), 5};
    permit held;
    // Create, list; list the permits; then the transaction, and the removal of the place in the queue.
    check({"semaphore, 3 permits of 5", 5, 2,
           [&] { held = get<permit>([&](auto h) { all.async_acquire(3, std::move(h)); }); },
           [&] {
               outcome<> o;
               held.async_release(o.handler());
               BOOST_REQUIRE(code_of(io, o) == error_code{});
           }});
}

BOOST_AUTO_TEST_CASE(a_failed_try_is_one_read)
{
    mutex theirs{other, path("mutex")};
    auto held = get<unique_lock>([&](auto h) { theirs.async_lock(std::move(h)); });
    mutex m{c, path("mutex")};
    check({"failed try of a mutex", 1, 1, [&] {
               BOOST_REQUIRE(!get<unique_lock>([&](auto h) { m.async_try_lock(std::move(h)); }));
           }});

    semaphore everything{other, path("semaphore"), 2};
    auto taken = get<permit>([&](auto h) { everything.async_acquire(2, std::move(h)); });
    semaphore s{c, path("semaphore"), 2};
    check({"failed try of a semaphore", 1, 1, [&] {
               BOOST_REQUIRE(!get<permit>([&](auto h) { s.async_try_acquire(1, std::move(h)); }));
           }});
}

BOOST_AUTO_TEST_CASE(several_free_locks_take_one_round_trip)
{
    std::vector<mutex> locks;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
        locks.emplace_back(c, path(name));
    }
    multi_lock all{std::vector<lock_entry>(locks.begin(), locks.end())};
    multi_guard held;
    // Two for each, and the probe.
    check({"multi_lock of 5 free mutexes", 11, 1,
           [&] { held = get<multi_guard>([&](auto h) { all.async_lock(std::move(h)); }); },
           [&] { give_back(held); }});
}

BOOST_AUTO_TEST_CASE(a_holder_is_asked_in_one_round_trip_by_his_node_and_in_two_by_the_path)
{
    mutex theirs{other, path("mutex")};
    auto held = get<unique_lock>([&](auto h) { theirs.async_lock(std::move(h)); });
    check({"revoke by node", 1, 1, [&] {
               outcome<> o;
               async_revoke(c, held.node(), o.handler());
               BOOST_REQUIRE(code_of(io, o) == error_code{});
           }});
    check({"revoke by path", 2, 2, [&] {
               BOOST_REQUIRE(get<std::size_t>([&](auto h) {
                                 async_revoke_holders(mutex{c, path("mutex")}, std::move(h));
                             }) == 1U);
           }});
}

// Those that it frees, and one more at most: the writer behind them looks ahead, and others do not.
BOOST_AUTO_TEST_CASE(G7_a_writers_release_wakes_the_readers_that_it_frees_and_one_more)
{
    constexpr std::size_t readers = 20;
    constexpr std::size_t behind = 20; // a writer, and readers that wait for it
    shared_mutex first{other, directory};
    auto held = get<unique_lock>([&](auto h) { first.async_lock(std::move(h)); });
    std::list<outcome<shared_lock>> reading;
    outcome<unique_lock> writing;
    std::vector<client*> waiting;
    const auto stand = [&](auto start) {
        auto& one = connect(quiet);
        const auto before = queue().size();
        start(shared_mutex{one, directory});
        BOOST_REQUIRE(until([&] { return queue().size() > before; }));
        waiting.push_back(&one);
    };
    const auto read = [&](shared_mutex m) {
        m.async_lock_shared(reading.emplace_back().handler());
    };
    for (std::size_t i = 0; i != readers; ++i) {
        stand(read);
    }
    stand([&](shared_mutex m) { m.async_lock(writing.handler()); });
    for (std::size_t i = 0; i != behind; ++i) {
        stand(read);
    }
    const auto settled = [&] {
        return std::ranges::all_of(waiting,
                                   [](const client* w) { return w->stats().in_flight == 0; });
    };
    BOOST_REQUIRE(until(settled));
    std::vector<std::uint64_t> before;
    for (const auto* w : waiting) {
        before.push_back(w->stats().watch_events);
    }
    BOOST_REQUIRE(unlock(held) == error_code{});
    BOOST_REQUIRE(until([&] {
        return static_cast<std::size_t>(std::ranges::count_if(
                   reading, [](const auto& o) { return o.done(); })) == readers;
    }));
    BOOST_REQUIRE(until(settled));
    go_on(io, 20ms); // for those that should not have been woken
    std::size_t woken = 0;
    for (std::size_t i = 0; i != waiting.size(); ++i) {
        woken += static_cast<std::size_t>(waiting[i]->stats().watch_events != before[i]);
    }
    std::cout << "figure: a writer's release before " << readers << " readers, a writer and "
              << behind << " readers wakes " << woken << " clients\n";
    BOOST_TEST(woken >= readers);
    BOOST_TEST(woken <= readers + 1);
    BOOST_TEST(!writing.done());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::family_figures_test
