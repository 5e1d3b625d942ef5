// A hundred thousand acquisitions that are cancelled at random instants, in all states of the connection. Counted
// while somebody else still holds the lock (a watch left on its node would vanish with it): no node, no watch and
// no session is left (G3), and every handler was called once (G6). In batches of hundreds on one connection, so that
// a cut serves many.
#include <support/lock_scene.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace colock::test::lock_cancel_test {

namespace {

constexpr std::size_t a_batch = 250;
constexpr int batches = 67; // by six states: 100,500

constexpr asio::cancellation_type kinds[] = {
    asio::cancellation_type::terminal, asio::cancellation_type::partial,
    asio::cancellation_type::total, asio::cancellation_type::all};

struct cancel_scene : lock_scene {
    struct attempt {
        asio::cancellation_signal stop;
        unsigned calls = 0;
    };

    // One acquisition of the busy lock, or of a free one.
    void start(bool busy)
    {
        auto& a = *attempts.emplace_back(std::make_unique<attempt>());
        // Those who wait have a node each, or none where they wait for others of this client.
        mutex m = busy ? mutex{zk, directory, with_nodes()} : mutex{zk, directory + "-free"};
        m.async_lock(asio::bind_cancellation_slot(
            a.stop.slot(), [this, &a](error_code ec, const unique_lock& got) {
                ++a.calls;
                ++(ec ? aborted : granted);
                errors += ec && ec != asio::error::operation_aborted ? 1 : 0;
                exclusion_broken += busy_is_granted(got) ? 1 : 0;
            }));
    }
    [[nodiscard]] bool busy_is_granted(const unique_lock& got) const
    {
        return got && got.path() == directory;
    }

    void start_all(std::size_t one_in_is_free)
    {
        for (std::size_t i = 0; i != a_batch; ++i) {
            start(random() % one_in_is_free != 0);
            poll_a_little();
        }
    }
    void poll_a_little()
    {
        for (auto n = random() % 3; n != 0; --n) {
            io.poll_one();
        }
    }
    void cancel_all(bool slowly = true)
    {
        std::ranges::shuffle(attempts, random);
        for (auto& a : attempts) {
            a->stop.emit(kinds[random() % std::size(kinds)]);
            if (slowly) {
                poll_a_little();
                if (random() % 16 == 0) {
                    io.run_one_for(1ms);
                }
            }
        }
    }
    void finish()
    {
        BOOST_REQUIRE(until(
            [&] { return std::ranges::all_of(attempts, [](auto& a) { return a->calls != 0; }); }));
        BOOST_REQUIRE(std::ranges::all_of(attempts, [](auto& a) { return a->calls == 1; }));
        attempts.clear();
    }

    void check(const char* name, int runs)
    {
        BOOST_TEST(until([&] { return zk.stats().contenders == 0; }));
        BOOST_TEST(zk.stats().locks_granted == zk.stats().locks_released);
        const auto free_lock = queue_of(directory + "-free").size();
        const auto nodes = queue().size() + free_lock;
        BOOST_TEST(nodes == 1U); // the holder's
        BOOST_TEST(until([&] { return watches_of(zk).empty(); }));
        const auto now = server.sessions();
        const auto strays = std::ranges::count_if(now, [&](auto id) {
            return !sessions_before.contains(id) &&
                   id != admin.session_id(); // which is idle for long
        });
        BOOST_TEST(strays == 0);
        BOOST_TEST(errors == 0);
        BOOST_TEST(exclusion_broken == 0);
        BOOST_TEST(bool(held));
        std::printf("figure: %s: %zu acquisitions, %d cancelled, %d granted; left: %zu nodes, %zu "
                    "watches, %td "
                    "sessions\n",
                    name, static_cast<std::size_t>(runs) * a_batch, aborted, granted, nodes - 1,
                    watches_of(zk).size(), strays);
    }

    tcp_proxy proxy = link_proxy(server);
    client& holder = connect();
    client& zk = connect_through(proxy);
    unique_lock held = hold(holder);
    const std::set<std::int64_t> sessions_before = server.sessions();
    std::mt19937 random{std::random_device{}()};
    std::vector<std::unique_ptr<attempt>> attempts;
    int granted = 0;
    int aborted = 0;
    int errors = 0;
    int exclusion_broken = 0;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(lock_cancel, cancel_scene)

BOOST_AUTO_TEST_CASE(G3_G6_connected)
{
    const int runs = repetitions(batches);
    for (int i = 0; i != runs; ++i) {
        start_all(4);
        cancel_all();
        finish();
    }
    check("connected", runs);
}

BOOST_AUTO_TEST_CASE(G3_G6_disconnected)
{
    const int runs = repetitions(batches);
    for (int i = 0; i != runs; ++i) {
        proxy.refuse(true);
        proxy.cut();
        BOOST_REQUIRE(until([&] { return zk.state() == connection_state::suspended; }));
        start_all(4);
        cancel_all();
        proxy.refuse(false);
        finish();
        BOOST_REQUIRE(until([&] { return zk.state() == connection_state::connected; }));
    }
    check("disconnected", runs);
}

BOOST_AUTO_TEST_CASE(G3_G6_the_create_in_flight)
{
    const int runs = repetitions(batches);
    for (int i = 0; i != runs; ++i) {
        const auto rule = proxy.on_request(any_create(), reaction::hold);
        start_all(4);
        BOOST_REQUIRE(until([&] { return rule.fired() == 1; }));
        cancel_all();
        proxy.clear_rules();
        finish();
    }
    check("create in flight", runs);
}

BOOST_AUTO_TEST_CASE(G3_G6_a_creates_reply_is_lost)
{
    const int runs = repetitions(batches);
    for (int i = 0; i != runs; ++i) {
        // A waiter that is cancelled before there is a connection sends nothing.
        BOOST_REQUIRE(until([&] { return zk.state() == connection_state::connected; }));
        const auto lost =
            proxy.on_reply(any_create(), reaction::drop_and_cut,
                           {.nth = static_cast<unsigned>(1 + random() % (a_batch / 2))});
        start_all(4);
        cancel_all(i % 2 == 0);
        BOOST_REQUIRE(until([&] { return lost.fired() == 1; }));
        finish();
    }
    check("create's reply lost", runs);
}

BOOST_AUTO_TEST_CASE(G3_G6_waiting)
{
    const int runs = repetitions(batches);
    for (int i = 0; i != runs; ++i) {
        for (std::size_t n = 0; n != a_batch; ++n) {
            start(true);
        }
        BOOST_REQUIRE(until([&] { return queue().size() == 1 + a_batch; }));
        cancel_all();
        finish();
    }
    check("waiting", runs);
}

// The grant and the cancellation cross each other; each is delivered or taken back.
BOOST_AUTO_TEST_CASE(G3_G6_just_granted)
{
    const int runs = repetitions(batches);
    for (int i = 0; i != runs; ++i) {
        for (std::size_t n = 0; n != a_batch; ++n) {
            start(false);
            const auto before = zk.stats().locks_granted;
            if (random() % 2 == 0) {
                becomes_true(
                    io, [&] { return zk.stats().locks_granted != before; }, 1ms);
            }
            attempts.back()->stop.emit(kinds[random() % std::size(kinds)]);
            poll_a_little();
        }
        finish();
    }
    check("just granted", runs);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::lock_cancel_test
