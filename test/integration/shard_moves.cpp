// Shards among several clients of one process, against a real server.
#include "shard_scene.hpp"

#include <boost/asio/detached.hpp>
#include <boost/asio/spawn.hpp>

namespace colock::test::shard_moves_test {

BOOST_FIXTURE_TEST_SUITE(shards_cases, shard_scene)

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

// Asio 1.81 rethrows the exception of a success, which is null.
BOOST_AUTO_TEST_CASE(a_coroutine_with_a_stack_runs_shards)
{
    colock::shards pieces{connect(), directory, usual("ann")};
    bool ended = false;
    const auto body = [&](const owned_shard&) -> asio::awaitable<void> {
        pieces.async_leave(0s, [](error_code) {});
        co_return;
    };
    asio::spawn(
        io,
        [&](const asio::yield_context& yield) {
            pieces.async_run(body, yield);
            ended = true;
        },
        asio::detached);
    BOOST_TEST(until([&] { return ended; }));
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

    // One who asks for it does not change who has it.
    outcome<std::size_t> asked;
    async_revoke_holders(shard, asked.handler());
    BOOST_TEST(value_of(io, asked) == 1u);
    const auto node = directory + "/locks/5/" + queue_of(directory + "/locks/5").front();
    BOOST_TEST(until([&] { return admin.get(node) == "ann\n__REVOKE__"; }));
    BOOST_TEST(owners(a, {})[5].owner.value_or("") == "ann");
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
    // An old one that starts again queues after it.
    auto& dan = run(connect(), usual("dan"));
    go_on(io, 100ms);
    BOOST_TEST(dan.bodies + dan.ends == 0u);
    ann.stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(ended(ann));
    BOOST_TEST(has(cid, 24));
    BOOST_TEST(ended(dan));
    BOOST_TEST(dan.code() == errc::conflicting_use);
    BOOST_TEST(admin.get(directory + "/definition") == "24 shards");

    // It may be anybody's text.
    admin.set(directory + "/definition", "\x1b[2J8 shards\r" + std::string(1000, 'x'));
    auto& eve = run(connect(), usual("eve"));
    BOOST_TEST(ended(eve));
    BOOST_CHECK_EXCEPTION(std::rethrow_exception(eve.why), boost::system::system_error,
                          [](const auto& e) {
                              const std::string text{e.what()};
                              return text == printable(text) &&
                                     text.find("8 shards") != text.npos && text.size() < 500;
                          });
}

// Its place in the queue is after that of a member, which stays.
BOOST_AUTO_TEST_CASE(one_that_comes_too_late_to_replace_the_definition_is_a_member)
{
    auto& ann = run(connect(), usual("ann"));
    BOOST_TEST(has(ann, 12));
    auto proxy = link_proxy(server);
    auto rule = proxy.on_request({opcode::create, opcode::create2}, reaction::hold,
                                 {.nth = 2, .path_prefix = directory + "/use/"});
    auto other = usual("cid");
    other.count = 24;
    other.redefine = true;
    auto& through = connect_through(proxy);
    auto& cid = run(through, other);
    BOOST_TEST(until([&] { return rule.fired() == 1U; }));
    ann.stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(ended(ann));
    other.member = "dan";
    auto& dan = run(connect(), other);
    // Where that takes long, the other one has made a new connection, and takes its part.
    BOOST_TEST(until(
        [&] { return dan.bodies != 0 && admin.get(directory + "/definition") == "24 shards"; }));
    rule.release();
    BOOST_TEST(has(cid, 12));
    outcome<> closed; // as long as there is the proxy
    through.async_close(closed.handler());
    BOOST_TEST(!code_of(io, closed));
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
    BOOST_TEST(ann.bodies == 12u); // it took none of them a second time
    BOOST_TEST(ann.ends + bob.ends == 0u);
}

BOOST_AUTO_TEST_CASE(a_body_that_ends_is_started_again_after_a_pause)
{
    auto o = usual("ann");
    o.when_body_ends = body_end::restart;
    // The client lives longer than this case.
    const auto said = std::make_shared<std::vector<std::string>>();
    auto& ann = run(connect({.log =
                                 [said](log_level level, std::string_view line) {
                                     if (level == log_level::warning) {
                                         said->emplace_back(line);
                                     }
                                 }}),
                    o);
    ann.throws[2] = "for a while";
    BOOST_TEST(until([&] { return ann.bodies >= 14; }));
    BOOST_TEST(std::ranges::count(*said, "the shards " + directory +
                                             ": shard 2 has failed: for a while") >= 1);
    BOOST_TEST(ann.bodies < 30u);
    ann.throws.clear();
    BOOST_TEST(has(ann, 12));
    BOOST_TEST(ann.ends == 0u);
}

BOOST_AUTO_TEST_CASE(a_client_runs_the_shards_of_a_path_once)
{
    auto& c = connect();
    auto& ann = run(c, usual("ann"));
    auto& again = run(c, usual("bob")); // at once
    BOOST_TEST(ended(again));
    BOOST_TEST(again.code() == errc::conflicting_use);
    BOOST_TEST(has(ann, 12));
    diagnostics why;
    std::exception_ptr refused;
    ann.pieces.async_run([](const owned_shard&) -> asio::awaitable<void> { co_return; },
                         bind_diagnostics(why, [&](std::exception_ptr e) { refused = e; }));
    BOOST_TEST(until([&] { return refused; }));
    BOOST_CHECK_EXCEPTION(
        std::rethrow_exception(refused), boost::system::system_error, [](const auto& e) {
            return std::string{e.what()}.find("runs them already") != std::string::npos;
        });
    BOOST_TEST(why.message().find("this client runs them already") != std::string::npos,
               why.message());
    outcome<unique_lock> locked;
    mutex{c, directory}.async_try_lock(locked.handler());
    BOOST_TEST(code_of(io, locked) == errc::conflicting_use);

    ann.stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(ended(ann));
    auto& later = run(c, usual("cid"));
    BOOST_TEST(has(later, 12));
}

BOOST_AUTO_TEST_CASE(a_limit_without_end)
{
    auto& ann = run(connect(), usual("ann"));
    auto& bob = run(connect(), usual("bob"));
    BOOST_TEST(until([&] { return all.of("ann") == 6 && all.of("bob") == 6; }));
    const auto moved = all.moves;
    outcome<> left;
    ann.pieces.async_leave(std::chrono::hours::max(), left.handler());
    BOOST_TEST(!code_of(io, left));
    BOOST_TEST(has(bob, 12));
    BOOST_TEST(ann.ends == 1u);
    BOOST_TEST(all.moves == moved + 6); // handed on, and not just dropped
}

BOOST_AUTO_TEST_CASE(what_moves_is_observed)
{
    client_options observed;
    const auto heard = std::make_shared<recorder>();
    heard->shards = directory;
    observed.observer = heard;
    observed.histograms = true;
    auto& a = connect(observed);
    auto& ann = run(a, usual("ann"));
    BOOST_TEST(has(ann, 12));
    BOOST_TEST(a.stats().shards.owned == 12u);
    BOOST_TEST(a.stats().shards.taken == 12u);
    for (const auto& gap : heard->shard_gaps()) {
        BOOST_TEST((gap > 0ns)); // nobody had it
    }
    auto& bob = run(connect(), usual("bob"));
    BOOST_TEST(until([&] { return all.of("bob") == 6 && a.stats().shards.given_up == 6; }));
    for (const auto& each : heard->shard_ends()) {
        BOOST_TEST(!each.lost);
        BOOST_TEST((each.gap > 0ns && each.gap < each.owned));
    }
    BOOST_TEST(a.stats().times.shard_gap.count == 18u);
    bob.stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(until([&] { return a.stats().shards.owned == 12; }));
    BOOST_REQUIRE(!kill_session(server.connect_string(), a.session_id(), password_of(a)));
    BOOST_TEST(until([&] { return a.stats().shards.lost == 12 && all.of("ann") == 12; }));
    ann.stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(ended(ann));
    const auto s = a.stats().shards;
    BOOST_TEST(s.taken == s.given_up + s.lost);
    BOOST_TEST(s.owned == 0u);
    BOOST_TEST(heard->shard_gaps().size() == s.taken);
    BOOST_TEST(heard->shard_ends().size() == s.taken);
    BOOST_TEST(heard->add_up().faults == 0);
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
    BOOST_TEST(c.last_error_detail().starts_with("the shards " + directory + ": "));
    refused([](auto& o) { o.count = 100'000; }, errc::session_full);

    // A member has three more nodes, beside the contenders for all shards.
    const auto locks =
        10 * (4 + (directory + "/locks/0/_c_").size() + 36 + std::string{"-lock-"}.size() + 10);
    auto o = usual("bob");
    o.count = 10;
    auto& small = connect({.max_session_size = locks});
    const auto asked = small.stats().requests;
    auto& last = run(small, o);
    BOOST_TEST(ended(last));
    BOOST_TEST(last.code() == errc::session_full);
    BOOST_TEST(small.last_error_detail().starts_with("10 shards take "));
    BOOST_TEST(small.stats().requests == asked); // before it takes any
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
        return before == sent() && a.stats().in_flight + b.stats().in_flight == 0;
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

} // namespace colock::test::shard_moves_test
