// Shards among several clients of one process, against a real server.
#include <colock/shards.hpp>
#include <support/lock_scene.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

using namespace colock;
using namespace colock::test;

namespace {

// All bodies of a case: nobody else has the shard, and tokens grow.
struct ownership {
    std::map<std::uint32_t, std::string> owners;
    std::map<std::uint32_t, fencing_token> tokens;
    std::size_t moves = 0; // from one member to another
    std::map<std::uint32_t, std::string> last;

    void begin(std::uint32_t shard, const std::string& who, const fencing_token& token)
    {
        BOOST_TEST(owners.emplace(shard, who).second, "two own shard " << shard);
        BOOST_TEST((tokens[shard] < token));
        tokens[shard] = token;
        auto& before = last[shard];
        moves += !before.empty() && before != who ? 1u : 0u;
        before = who;
    }
    void end(std::uint32_t shard) { owners.erase(shard); }
    [[nodiscard]] std::size_t of(const std::string& who) const
    {
        return static_cast<std::size_t>(
            std::ranges::count_if(owners, [&](const auto& o) { return o.second == who; }));
    }
};

struct member {
    member(client& zk, const std::string& path, shards_options o) : options{o}, pieces{zk, path, o}
    {
    }

    shards_options options;
    colock::shards pieces;
    asio::cancellation_signal stop;
    unsigned ends = 0;
    std::exception_ptr why;
    std::map<std::uint32_t, std::string> throws; // by the bodies of these shards
    unsigned bodies = 0;

    [[nodiscard]] error_code code() const
    {
        if (!why) {
            return {};
        }
        try {
            std::rethrow_exception(why);
        } catch (const boost::system::system_error& e) {
            return e.code();
        } catch (...) {
            return errc::lock_lost; // of no case
        }
    }
};

struct scene : lock_scene {
    ~scene()
    {
        for (auto& m : members) {
            m.stop.emit(asio::cancellation_type::terminal);
        }
        try {
            until(
                [&] { return std::ranges::all_of(members, [](auto& m) { return m.ends == 1; }); });
        } catch (...) {
        }
    }

    shards_options usual(std::string name)
    {
        shards_options o;
        o.count = 12;
        o.member = std::move(name);
        o.settle = 0ms;
        return o;
    }
    member& run(client& c, shards_options o)
    {
        auto& m = members.emplace_back(c, directory, std::move(o));
        m.pieces.async_run(
            [this, &m](const owned_shard& mine) -> asio::awaitable<void> {
                const auto shard = mine.index();
                ++m.bodies;
                all.begin(shard, m.options.member, mine.token());
                struct leaving {
                    ownership& of;
                    std::uint32_t shard;
                    ~leaving() { of.end(shard); }
                } ends{all, shard};
                if (const auto at = m.throws.find(shard); at != m.throws.end()) {
                    throw std::runtime_error{at->second};
                }
                asio::steady_timer forever{co_await asio::this_coro::executor};
                forever.expires_at(asio::steady_timer::time_point::max());
                co_await forever.async_wait(asio::use_awaitable);
            },
            asio::bind_cancellation_slot(m.stop.slot(), [&m](std::exception_ptr e) {
                ++m.ends;
                m.why = e;
            }));
        return m;
    }
    bool has(const member& m, std::size_t n)
    {
        return until([&] { return all.of(m.options.member) == n; });
    }
    bool ended(const member& m)
    {
        return until([&] { return m.ends == 1; });
    }
    std::vector<shard_owner> owners(client& c, shards_options o)
    {
        outcome<std::vector<shard_owner>> found;
        colock::shards{c, directory, std::move(o)}.async_owners(found.handler());
        return value_of(io, found);
    }

    std::deque<member> members;
    ownership all;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(shards_cases, scene)

BOOST_AUTO_TEST_CASE(one_member_owns_all)
{
    auto& a = connect();
    BOOST_TEST(owners(a, {}).empty());
    auto& ann = run(a, usual("ann"));
    BOOST_TEST(has(ann, 12));
    const auto all_owners = owners(a, usual("ann"));
    BOOST_REQUIRE(all_owners.size() == 12u);
    BOOST_TEST(all_owners[3].shard.index == 3u);
    BOOST_TEST(all_owners[3].shard.name == "3");
    BOOST_TEST(all_owners[3].owner.value_or("") == "ann");
    BOOST_TEST(all_owners[3].assigned.value_or("") == "ann");
    BOOST_TEST(all_owners[3].since.has_value());
    // Who only looks need not know how many there are.
    BOOST_TEST((owners(a, {}) == all_owners));
    BOOST_TEST(admin.get(directory + "/assignment").starts_with("12 shards\n0-11 ann\n"));
    ann.stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(ended(ann));
    BOOST_TEST(ann.code() == asio::error::operation_aborted);
    BOOST_TEST(all.owners.empty());
    BOOST_TEST(until([&] { return queue_of(directory + "/members").empty(); }));
    BOOST_TEST(until([&] { return queue_of(directory + "/use").empty(); }));
    BOOST_TEST(until([&] { return queue_of(directory + "/leader").empty(); }));
}

BOOST_AUTO_TEST_CASE(a_member_that_comes_takes_its_part_and_no_more_move)
{
    auto& ann = run(connect(), usual("ann"));
    BOOST_TEST(has(ann, 12));
    auto& bob = run(connect(), usual("bob"));
    BOOST_TEST(has(bob, 6));
    BOOST_TEST(has(ann, 6));
    BOOST_TEST(all.moves == 6u);
    auto& cid = run(connect(), usual("cid"));
    BOOST_TEST(has(cid, 4));
    BOOST_TEST(until([&] { return all.of("ann") == 4 && all.of("bob") == 4; }));
    BOOST_TEST(all.moves == 10u);
}

BOOST_AUTO_TEST_CASE(a_member_that_dies)
{
    auto& a = connect();
    auto& b = connect();
    auto& ann = run(a, usual("ann"));
    auto& bob = run(b, usual("bob"));
    BOOST_TEST(has(ann, 6));
    BOOST_TEST(has(bob, 6));
    for (int i = 0; i != 2; ++i) { // the leader, and one who is not
        auto& victim = i == 0 ? a : b;
        BOOST_REQUIRE(
            !kill_session(server.connect_string(), victim.session_id(), password_of(victim)));
        // It comes back with another session, and all is even again.
        BOOST_TEST(until([&] {
            return all.of("ann") == 6 && all.of("bob") == 6 &&
                   a.state() == connection_state::connected &&
                   b.state() == connection_state::connected;
        }));
    }
    BOOST_TEST(ann.ends == 0u);
    BOOST_TEST(bob.ends == 0u);
    BOOST_TEST(until([&] { return queue_of(directory + "/members").size() == 2; }));
}

BOOST_AUTO_TEST_CASE(a_member_leaves)
{
    auto& ann = run(connect(), usual("ann"));
    BOOST_TEST(has(ann, 12));
    auto& bob = run(connect(), usual("bob"));
    BOOST_TEST(has(bob, 6));
    BOOST_TEST(has(ann, 6));
    outcome<> left;
    ann.pieces.async_leave(20s, left.handler());
    BOOST_TEST(!code_of(io, left));
    BOOST_TEST(ended(ann));
    BOOST_TEST(!ann.why);
    BOOST_TEST(has(bob, 12));
    // The last one has nobody to hand them to.
    outcome<> also;
    bob.pieces.async_leave(20s, also.handler());
    BOOST_TEST(!code_of(io, also));
    BOOST_TEST(ended(bob));
    BOOST_TEST(!bob.why);
    BOOST_TEST(all.owners.empty());
    outcome<> again;
    bob.pieces.async_leave(1s, again.handler());
    BOOST_TEST(code_of(io, again) == errc::not_held);
}

BOOST_AUTO_TEST_CASE(weights)
{
    auto o = usual("ann");
    o.weight = 3;
    auto& ann = run(connect(), o);
    auto& bob = run(connect(), usual("bob"));
    BOOST_TEST(until([&] { return all.of("ann") == 9 && all.of("bob") == 3; }));
    BOOST_TEST(ann.ends + bob.ends == 0u);
}

BOOST_AUTO_TEST_CASE(shards_with_names)
{
    auto o = usual("ann");
    o.count = 0;
    o.names = {"red", "green", "dark blue"};
    auto& c = connect();
    run(c, o);
    BOOST_TEST(until([&] { return all.of("ann") == 3; }));
    const auto found = owners(c, o);
    BOOST_TEST(found[2].shard.name == "dark blue");
    BOOST_TEST(found[2].owner.value_or("") == "ann");
    BOOST_TEST(!queue_of(directory + "/locks/dark blue").empty());
}

BOOST_AUTO_TEST_CASE(an_operator_locks_a_shard)
{
    auto& a = connect();
    auto& ann = run(a, usual("ann"));
    BOOST_TEST(has(ann, 12));
    auto& admin_client = connect();
    outcome<unique_lock> held;
    mutex shard{admin_client, directory + "/locks/5"};
    shard.async_lock(held.handler());
    BOOST_TEST(until([&] { return queue_of(directory + "/locks/5").size() == 2; }));
    go_on(io, 100ms);
    BOOST_TEST(!held.done());
    BOOST_TEST(all.of("ann") == 12u);
    BOOST_TEST(all.moves == 0u);
}

BOOST_AUTO_TEST_CASE(another_definition_is_refused)
{
    auto& ann = run(connect(), usual("ann"));
    BOOST_TEST(has(ann, 12));
    auto other = usual("bob");
    other.count = 24;
    auto& bob = run(connect(), other);
    BOOST_TEST(ended(bob));
    BOOST_TEST(bob.code() == errc::conflicting_use);

    // One that may replace it waits until the old ones are gone.
    other.redefine = true;
    other.member = "cid";
    auto& cid = run(connect(), other);
    go_on(io, 100ms);
    BOOST_TEST(cid.bodies == 0u);
    BOOST_TEST(all.of("ann") == 12u);
    ann.stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(ended(ann));
    BOOST_TEST(has(cid, 24));
    BOOST_TEST(admin.get(directory + "/definition") == "24 shards");
}

BOOST_AUTO_TEST_CASE(a_body_that_throws_ends_the_run)
{
    auto& bob = run(connect(), usual("bob"));
    bob.throws[4] = "of a body";
    BOOST_TEST(ended(bob));
    BOOST_CHECK_THROW(std::rethrow_exception(bob.why), std::runtime_error);
    BOOST_TEST(all.owners.empty());
}

BOOST_AUTO_TEST_CASE(a_body_that_ends_and_its_shard_goes_to_another_member)
{
    auto o = usual("ann");
    o.when_body_ends = body_end::release;
    auto& ann = run(connect(), o);
    ann.throws[2] = "no";
    ann.throws[3] = "no";
    BOOST_TEST(until([&] { return all.of("ann") == 10; }));
    auto& bob = run(connect(), usual("bob"));
    BOOST_TEST(until([&] { return all.of("bob") == 6 && all.of("ann") == 6; }));
    BOOST_TEST(all.owners[2] == "bob");
    BOOST_TEST(all.owners[3] == "bob");
    BOOST_TEST(ann.ends + bob.ends == 0u);
}

BOOST_AUTO_TEST_CASE(a_body_that_ends_is_started_again_after_a_pause)
{
    auto o = usual("ann");
    o.when_body_ends = body_end::restart;
    auto& ann = run(connect(), o);
    ann.throws[2] = "for a while";
    BOOST_TEST(until([&] { return ann.bodies >= 14; }));
    BOOST_TEST(ann.bodies < 30u);
    ann.throws.clear();
    BOOST_TEST(has(ann, 12));
    BOOST_TEST(ann.ends == 0u);
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

BOOST_AUTO_TEST_CASE(bad_options_are_refused)
{
    auto& c = connect();
    const auto refused = [&](auto change, const error_code& why = errc::invalid_option) {
        auto o = usual("ann");
        change(o);
        auto& m = run(c, o);
        BOOST_TEST(ended(m));
        BOOST_TEST(m.code() == why);
    };
    refused([](auto& o) { o.count = 0; });
    refused([](auto& o) { o.names = {"a"}; });
    refused([](auto& o) { o.count = 100'001; });
    refused([](auto& o) { o.count = 0, o.names = {"a", "a"}; });
    refused([](auto& o) { o.count = 0, o.names = {"a/b"}; });
    refused([](auto& o) { o.member = "a/b"; });
    refused([](auto& o) { o.moves_at_a_time = 0; });
    refused([](auto& o) { o.take_limit = 0ms; });
    refused([](auto& o) { o.count = 100'000; }, errc::session_full);
}

BOOST_AUTO_TEST_CASE(nothing_is_sent_while_nothing_happens)
{
    auto& a = connect();
    auto& b = connect();
    auto& ann = run(a, usual("ann"));
    auto& bob = run(b, usual("bob"));
    BOOST_TEST(has(ann, 6));
    BOOST_TEST(has(bob, 6));
    const auto sent = [&] {
        const auto x = a.stats();
        const auto y = b.stats();
        return x.requests - x.heartbeats + y.requests - y.heartbeats;
    };
    std::uint64_t before = 0;
    BOOST_TEST(until([&] { // what still follows the last move
        before = sent();
        go_on(io, 100ms);
        return before == sent();
    }));
    go_on(io, 300ms);
    BOOST_TEST(sent() == before);
}

BOOST_AUTO_TEST_CASE(a_run_outlives_neither_its_context_nor_its_client)
{
    const auto path = directory;
    std::optional<colock::shards> pieces;
    {
        asio::io_context context;
        client c{context, server.connect_string()};
        outcome<> connected;
        c.async_connect(connected.handler());
        BOOST_REQUIRE(!code_of(context, connected));
        pieces.emplace(c, path, usual("ann"));
        unsigned bodies = 0;
        pieces->async_run(
            [&](const owned_shard&) -> asio::awaitable<void> {
                ++bodies;
                asio::steady_timer forever{co_await asio::this_coro::executor};
                forever.expires_at(asio::steady_timer::time_point::max());
                co_await forever.async_wait(asio::use_awaitable);
            },
            [](std::exception_ptr) {});
        BOOST_TEST(becomes_true(context, [&] { return bodies == 12; }));
    }
    BOOST_TEST(pieces->path() == path);
}

BOOST_AUTO_TEST_SUITE_END()
