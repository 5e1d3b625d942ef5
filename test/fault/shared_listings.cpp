// Contenders of one client that ask for the list of their queue at the same time share it.
#include <support/lock_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <list>
#include <string>
#include <utility>
#include <vector>

using namespace colock;
using namespace colock::test;

namespace {

constexpr std::size_t waiters = 100;

struct crowd_scene : lock_scene {
    tcp_proxy proxy = link_proxy(common_server());
    client& one = connect_through(proxy, {.session_timeout = 40s});
    unique_lock held = hold(connect({.session_timeout = 40s}));
    std::list<outcome<unique_lock>> crowd;

    void join()
    {
        for (std::size_t i = 0; i != waiters; ++i) {
            crowd.push_back(start_lock(one));
        }
    }
    // Each has its node, and watches those before it.
    bool all_wait()
    {
        return until([&] {
            return queue().size() == crowd.size() + 1 && one.stats().in_flight == 0 &&
                   one.stats().contenders == crowd.size();
        });
    }
    // In the order of their nodes, which is that in which they joined.
    void each_has_its_turn()
    {
        BOOST_TEST(unlock(held) == error_code{});
        for (auto& o : crowd) {
            auto own = value_of(io, o);
            BOOST_TEST(!own.loss_reason());
            BOOST_TEST(queue().front() == own.node().substr(directory.size() + 1));
            BOOST_TEST(unlock(own) == error_code{});
        }
        BOOST_TEST(queue().empty());
    }
    // The answer to the next listing, until it is released.
    tcp_proxy::rule hold_a_listing() { return proxy.on_reply(any_get_children(), reaction::hold); }
    // Many wait for it, each with its node.
    bool many_wait_for(const tcp_proxy::rule& held_back)
    {
        return until([&] { return held_back.fired() == 1 && queue().size() == waiters + 1; });
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(shared_listings, crowd_scene)

BOOST_AUTO_TEST_CASE(G2_who_joins_at_once_asks_a_few_times)
{
    proxy.set_delay(10ms); // one way: while one listing is under way all others join
    const auto before = proxy.requests(any_get_children());
    join();
    BOOST_TEST_REQUIRE(all_wait());
    const auto listings = proxy.requests(any_get_children()) - before;
    BOOST_TEST(listings >= 2U);
    BOOST_TEST(listings <= 10U);
    proxy.set_delay(0ms);
    each_has_its_turn();
}

BOOST_AUTO_TEST_CASE(G3_G4_the_connection_breaks_under_a_listing_that_many_wait_for)
{
    auto held_back = hold_a_listing();
    join();
    BOOST_TEST_REQUIRE(many_wait_for(held_back));
    proxy.cut();
    BOOST_TEST_REQUIRE(all_wait());
    each_has_its_turn();
}

BOOST_AUTO_TEST_CASE(G3_G4_the_session_ends_under_a_listing_that_many_wait_for)
{
    auto held_back = hold_a_listing();
    join();
    BOOST_TEST_REQUIRE(many_wait_for(held_back));
    static_cast<void>(
        kill_session(common_server().connect_string(), one.session_id(), password_of(one)));
    proxy.cut();
    BOOST_TEST_REQUIRE(all_wait()); // all have joined again
    // In another order: which creates go first when a session begins, nobody promises.
    BOOST_TEST(unlock(held) == error_code{});
    std::size_t granted = 0;
    BOOST_TEST(until([&] {
        for (auto& o : crowd) {
            if (o.ok()) {
                ++granted;
                const auto own = std::move(o.value()); // released at once
                o = {};
            }
        }
        return granted == waiters;
    }));
    BOOST_TEST(until([&] { return queue().empty(); }));
}

BOOST_AUTO_TEST_CASE(G3_waiters_are_cancelled_before_the_listing_comes)
{
    auto held_back = hold_a_listing();
    std::list<asio::cancellation_signal> signals;
    std::vector<outcome<unique_lock>> cancelled;
    for (std::size_t i = 0; i != waiters; ++i) {
        auto& signal = signals.emplace_back();
        outcome<unique_lock> o;
        mutex{one, directory, with_nodes()}.async_lock(
            asio::bind_cancellation_slot(signal.slot(), o.handler()));
        cancelled.push_back(std::move(o));
    }
    BOOST_TEST_REQUIRE(many_wait_for(held_back));
    for (auto& signal : signals) {
        signal.emit(asio::cancellation_type::terminal);
    }
    for (auto& o : cancelled) {
        BOOST_TEST(code_of(io, o) == asio::error::operation_aborted);
    }
    held_back.release();
    BOOST_TEST(until([&] { return queue().size() == 1 && one.stats().contenders == 0; }));
    BOOST_TEST(unlock(held) == error_code{});
}

BOOST_AUTO_TEST_CASE(G6_the_client_is_destroyed_under_a_listing_that_many_wait_for)
{
    auto held_back = hold_a_listing();
    join();
    BOOST_TEST_REQUIRE(until([&] { return held_back.fired() == 1; }));
    close_all();
    held_back.release();
    for (auto& o : crowd) {
        BOOST_TEST(code_of(io, o) == errc::client_closed);
    }
}

BOOST_AUTO_TEST_SUITE_END()
