// What happens before a member owns a shard: it takes its name, and prepares; the limit, the failure and the end of that.
#include "shard_scene.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

namespace colock::test::shard_preparation_test {

BOOST_FIXTURE_TEST_SUITE(shard_preparation, shard_scene)

// Another one has the name for as long as a try to take it lasts.
BOOST_AUTO_TEST_CASE(the_connection_is_away_while_a_member_waits_for_its_name)
{
    outcome<membership> joined;
    group{connect(), directory + "/members"}.async_join({.name = "ann"}, joined.handler());
    auto other = value_of(io, joined);
    tcp_proxy proxy = link_proxy(server);
    auto& c = connect_through(
        proxy, {.session_timeout = 4s, .backoff_max = 100ms, .tick = 100ms, .histograms = true});
    auto& ann = run(c, usual("ann"));
    BOOST_TEST(until([&] { return watches_of(c).contains(directory + "/members/ann"); }));
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(until([&] { return c.stats().acquisitions.failed != 0; }));
    other = {};
    proxy.refuse(false);
    BOOST_TEST(has(ann, 12));
    BOOST_TEST(ann.ends == 0u);
    ann.stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(ended(ann));
}

BOOST_AUTO_TEST_CASE(the_next_owner_prepares_while_the_old_one_works)
{
    auto& ann = run(connect(), usual("ann"));
    BOOST_TEST(has(ann, 12));
    std::set<std::uint32_t> prepared;
    auto o = usual("bob");
    o.prepare = [&](const shard_id& shard) -> asio::awaitable<void> {
        BOOST_TEST(all.owners.contains(shard.index));
        prepared.insert(shard.index);
        asio::steady_timer moment{co_await asio::this_coro::executor, 20ms};
        co_await moment.async_wait(asio::use_awaitable);
        BOOST_TEST(all.owners.contains(shard.index));
    };
    auto& bob = run(connect(), o);
    BOOST_TEST(has(bob, 6));
    BOOST_TEST(prepared.size() == 6u);
    // Where there is no owner, the lock is taken first.
    ann.stop.emit(asio::cancellation_type::terminal);
    bob.options.prepare = {};
    BOOST_TEST(ended(ann));
}

BOOST_AUTO_TEST_CASE(a_preparation_that_does_not_end)
{
    auto& ann = run(connect(), usual("ann"));
    BOOST_TEST(has(ann, 12));
    auto o = usual("bob");
    o.prepare_limit = 50ms;
    unsigned cancelled = 0;
    o.prepare = [&](const shard_id&) -> asio::awaitable<void> {
        asio::steady_timer forever{co_await asio::this_coro::executor};
        forever.expires_at(asio::steady_timer::time_point::max());
        try {
            co_await forever.async_wait(asio::use_awaitable);
        } catch (...) {
            ++cancelled;
            throw;
        }
    };
    auto& bob = run(connect(), o);
    BOOST_TEST(has(bob, 6));
    BOOST_TEST(until([&] { return cancelled == 6; }));
    BOOST_TEST(bob.ends == 0u);
}

BOOST_AUTO_TEST_CASE(a_preparation_that_does_not_end_under_the_lock)
{
    auto o = usual("bob");
    o.prepare_limit = 50ms;
    unsigned cancelled = 0;
    o.prepare = [&](const shard_id& shard) -> asio::awaitable<void> {
        asio::steady_timer forever{co_await asio::this_coro::executor};
        forever.expires_at(asio::steady_timer::time_point::max());
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        ++cancelled;
        if (shard.index % 2 == 0) { // these honour it
            co_await asio::this_coro::reset_cancellation_state(
                asio::enable_terminal_cancellation());
        }
        held_up.push_back(&forever);
        boost::system::error_code ec;
        co_await forever.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        std::erase(held_up, &forever);
    };
    auto& bob = run(connect(), o);
    BOOST_TEST(has(bob, 12));
    BOOST_TEST(cancelled == 12u);
    BOOST_TEST(held_up.size() == 6u);
    for (auto* each : std::vector{held_up}) {
        each->cancel();
    }
    BOOST_TEST(until([&] { return held_up.empty(); }));
    BOOST_TEST(bob.ends == 0u);
}

BOOST_AUTO_TEST_CASE(a_preparation_under_the_lock_ends_with_the_run)
{
    auto o = usual("bob");
    unsigned under_way = 0;
    o.prepare = [&](const shard_id&) -> asio::awaitable<void> {
        asio::steady_timer forever{co_await asio::this_coro::executor};
        forever.expires_at(asio::steady_timer::time_point::max());
        ++under_way;
        boost::system::error_code ec;
        co_await forever.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        --under_way;
    };
    auto& bob = run(connect(), o);
    BOOST_TEST(until([&] { return under_way == 12; }));
    bob.stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(ended(bob));
    BOOST_TEST(under_way == 0u);
    BOOST_TEST(bob.bodies == 0u);
}

BOOST_AUTO_TEST_CASE(a_context_that_is_destroyed_frees_what_it_prepares_under_the_lock)
{
    const auto mine = std::make_shared<int>();
    {
        asio::io_context own;
        unsigned under_way = 0;
        const auto serve = [&]() -> asio::awaitable<void> {
            client c{own, link_client({.hosts = link_hosts(server)})};
            co_await c.async_connect(asio::use_awaitable);
            auto o = usual("bob");
            o.prepare = [&, mine](const shard_id&) -> asio::awaitable<void> {
                asio::steady_timer forever{co_await asio::this_coro::executor};
                forever.expires_at(asio::steady_timer::time_point::max());
                ++under_way;
                co_await forever.async_wait(asio::use_awaitable);
            };
            shards pieces{c, directory, std::move(o)};
            co_await pieces.async_run(
                [](const owned_shard&) -> asio::awaitable<void> { co_return; },
                asio::use_awaitable);
        };
        asio::co_spawn(own, serve, asio::detached);
        run_until(own, [&] { return under_way == 12; });
    }
    BOOST_TEST(mine.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(a_preparation_that_throws)
{
    auto o = usual("bob");
    unsigned prepared = 0;
    const auto throws = [&](const shard_id& shard) -> asio::awaitable<void> {
        ++prepared;
        if (shard.index == 7) {
            throw std::runtime_error{"of a preparation"};
        }
        co_return;
    };
    o.prepare = throws;
    auto& bob = run(connect(), o); // under the lock
    BOOST_TEST(ended(bob));
    BOOST_CHECK_THROW(std::rethrow_exception(bob.why), std::runtime_error);

    auto& ann = run(connect(), usual("ann"));
    BOOST_TEST(has(ann, 12));
    o.member = "cid";
    o.prepare = [](const shard_id&) -> asio::awaitable<void> { // in the call, and before the lock
        throw std::runtime_error{"of a call"};
    };
    auto& cid = run(connect(), o);
    BOOST_TEST(ended(cid));
    BOOST_CHECK_THROW(std::rethrow_exception(cid.why), std::runtime_error);
    BOOST_TEST(has(ann, 12));

    // With a pause before it is tried again; the end of the run does not wait for that.
    o.member = "dan";
    o.prepare = throws;
    o.when_body_ends = body_end::restart;
    prepared = 0;
    auto& dan = run(connect(), o);
    BOOST_TEST(until([&] { return prepared >= 6; }));
    dan.stop.emit(asio::cancellation_type::terminal);
    const auto began = std::chrono::steady_clock::now();
    BOOST_TEST(ended(dan));
    BOOST_TEST((std::chrono::steady_clock::now() - began < 5s));
    BOOST_TEST(dan.code() == asio::error::operation_aborted);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::shard_preparation_test
