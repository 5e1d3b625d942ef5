// What others do to the nodes of shards, what permissions are missing, and ends at bad moments.
#include <colock/group.hpp>
#include <support/requests_of.hpp>

#include "shard_scene.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace colock::test::shard_troubles_test {

namespace {

constexpr int no_node = -101;
constexpr std::int32_t all_but_read = 30; // permissions

struct scene : shard_scene {
    std::string assignment()
    {
        try {
            return admin.get(directory + "/assignment");
        } catch (const admin_error& e) {
            if (e.code() != no_node) {
                throw;
            }
            return {};
        }
    }
    // A member that takes no shards.
    membership join_idly(client& c, std::string name)
    {
        outcome<membership> o;
        group{c, directory + "/members"}.async_join({.name = std::move(name)}, o.handler());
        return value_of(io, o);
    }
    // Nothing that the members were is left.
    void check_no_members()
    {
        for (const auto* const each : {"/members", "/use", "/leader"}) {
            BOOST_TEST(until([&] { return queue_of(directory + each).empty(); }), each);
        }
    }
};

// How many lines of a log have these words. The client outlives it.
class lines {
public:
    explicit lines(std::string words) : words_{std::move(words)} {}

    [[nodiscard]] log_sink log() const
    {
        return [words = words_, n = count_](log_level, std::string_view text) {
            *n += text.find(words) != text.npos ? 1 : 0;
        };
    }
    [[nodiscard]] int count() const { return *count_; }

private:
    const std::string words_;
    const std::shared_ptr<int> count_ = std::make_shared<int>(0);
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(shard_troubles, scene)

BOOST_AUTO_TEST_CASE(a_damaged_assignment_is_written_anew)
{
    auto& ann = run(connect(), usual("ann"));
    BOOST_TEST(has(ann, 12));
    auto& bob = run(connect(), usual("bob"));
    BOOST_TEST(until([&] { return all.of("ann") == 6 && all.of("bob") == 6; }));
    const auto written = assignment();
    const auto moved = all.moves;
    for (const auto& text : {std::string{"rubbish"}, std::string{"24 shards\n0-23 ann\n"},
                             std::string{}, std::string{"12 shards\n"},
                             written.substr(0, written.find('\n', written.find('\n') + 1))}) {
        admin.set(directory + "/assignment", text);
        BOOST_TEST(until([&] { return assignment() == written; }), text);
    }
    admin.remove(directory + "/assignment");
    BOOST_TEST(until([&] { return assignment() == written; }));
    BOOST_TEST(all.moves == moved);
    BOOST_TEST(ann.bodies + bob.bodies == 18u); // none has begun again
    // One that could be the leader's is no better.
    admin.set(directory + "/assignment", "12 shards\n0-11 bob\n");
    BOOST_TEST(until([&] { return assignment() == written; }));
    BOOST_TEST(until([&] { return all.of("ann") == 6 && all.of("bob") == 6; }));
    BOOST_TEST(ann.ends + bob.ends == 0u);
}

BOOST_AUTO_TEST_CASE(an_assignment_that_is_damaged_while_nobody_leads)
{
    // Somebody who is no member leads, and writes what no member would.
    auto& c = connect();
    outcome<leadership> led;
    election{c, directory + "/leader", "nobody"}.async_campaign(led.handler());
    auto term = value_of(io, led);
    admin.create(directory + "/assignment", "12 shards\n0,2,4,6,8,10 ann\n1,3,5,7,9,11 bob\n");
    lines told{"/locks: "};
    auto& ann = run(connect({.log = told.log()}), usual("ann"));
    auto& bob = run(connect({.log = told.log()}), usual("bob"));
    BOOST_TEST(has(ann, 6));
    BOOST_TEST(has(bob, 6));
    const auto written = assignment();

    // As long as the owners cannot be read, nobody gets anything.
    admin.set_acl(directory + "/locks/0", {{all_but_read}});
    admin.set(directory + "/assignment", "rubbish");
    term = {};
    BOOST_TEST(until([&] { return told.count() != 0; }));
    BOOST_TEST(assignment() == "rubbish");
    admin.set_acl(directory + "/locks/0", admin_session::open_to_all());
    BOOST_TEST(until([&] { return assignment() == written; }));
    auto& cat = run(connect(), usual("cat"));
    BOOST_TEST(has(cat, 4));
    BOOST_TEST(all.moves == 4u);
    BOOST_TEST(ann.bodies + bob.bodies + cat.bodies == 16u);
}

BOOST_AUTO_TEST_CASE(who_may_not_read_the_assignment_fails_and_leaves_nothing)
{
    auto& ann = run(connect(), usual("ann"));
    BOOST_TEST(has(ann, 12));
    constexpr int write = 2;
    admin.set_acl(directory + "/assignment", {{write, "world", "anyone"}});
    tcp_proxy proxy{server.connect_string()};
    proxy.set_delay(30ms);
    auto& bob = run(connect_through(proxy), usual("bob"));
    BOOST_TEST(ended(bob));
    BOOST_TEST(bob.code() == zookeeper_errc::no_auth);
    BOOST_TEST(bob.bodies == 0u);
    BOOST_TEST(!admin.exists(directory + "/members/bob").has_value()); // at once
}

// Whether somebody waits for it cannot be seen any more.
BOOST_AUTO_TEST_CASE(a_shard_that_is_to_move_when_its_queue_may_not_be_read_any_more)
{
    auto& c = connect();
    outcome<leadership> led;
    election{c, directory + "/leader", "nobody"}.async_campaign(led.handler());
    const auto term = value_of(io, led);
    admin.create(directory + "/assignment", "12 shards\n0-11 ann\n");
    tcp_proxy proxy{server.connect_string()};
    auto& through = connect_through(proxy);
    auto& ann = run(through, usual("ann"));
    BOOST_TEST(has(ann, 12));
    BOOST_TEST(until([&] { return child_watches() == 0; }));
    admin.set(directory + "/assignment", "12 shards\n0-10 ann\n11 bob\n");
    BOOST_TEST(until([&] { return child_watches() == 1; })); // on the queue
    BOOST_TEST(until([&] { return through.stats().in_flight == 0; }));
    BOOST_TEST(all.of("ann") == 12u);
    admin.set_acl(directory + "/locks/11", {{all_but_read}});
    proxy.cut();
    BOOST_TEST(has(ann, 11));
    BOOST_TEST(!all.owners.contains(11));
    BOOST_TEST(ann.bodies == 12u);
    BOOST_TEST(ann.ends == 0u);
    admin.set_acl(directory + "/locks/11", admin_session::open_to_all());
    ann.stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(ended(ann));
}

BOOST_AUTO_TEST_CASE(a_node_among_the_members_that_may_not_be_read)
{
    admin.create_path(directory + "/members");
    const auto stranger = directory + "/members/stranger";
    admin.create(stranger, {}, admin_session::mode::ephemeral, {{all_but_read}});
    lines told{stranger};
    auto& ann = run(connect({.log = told.log()}), usual("ann"));
    BOOST_TEST(until([&] { return told.count() != 0; }));
    BOOST_TEST(all.owners.empty());
    admin.remove(stranger);
    BOOST_TEST(has(ann, 12));
    BOOST_TEST(told.count() == 1);
}

// It is longer than that of a member, so no member could read an assignment to it.
BOOST_AUTO_TEST_CASE(a_node_among_the_members_with_a_name_of_no_member)
{
    auto& ann = run(connect(), usual("ann"));
    BOOST_TEST(has(ann, 12));
    admin.create(directory + "/members/" + std::string(256, 'x'), {},
                 admin_session::mode::ephemeral);
    auto& bob = run(connect(), usual("bob"));
    BOOST_TEST(has(bob, 6));
    BOOST_TEST(has(ann, 6));
}

BOOST_AUTO_TEST_CASE(an_assignment_that_the_leader_may_not_write)
{
    constexpr std::int32_t read = 1;
    admin.create_path(directory);
    admin.create(directory + "/assignment", "rubbish", admin_session::mode::persistent, {{read}});
    lines told{"/assignment cannot be written"};
    auto& ann = run(connect({.log = told.log()}), usual("ann"));
    BOOST_TEST(until([&] { return told.count() != 0; }));
    go_on(io, 3s); // some more refusals
    BOOST_TEST(all.owners.empty());
    admin.remove(directory + "/assignment");
    BOOST_TEST(has(ann, 12));
    BOOST_TEST(told.count() == 1);
}

BOOST_AUTO_TEST_CASE(a_server_that_is_too_busy_for_the_definition)
{
    constexpr int throttled = -127;
    tcp_proxy proxy{server.connect_string()};
    const auto refused =
        proxy.on_reply({opcode::create, opcode::create2}, reaction::replace,
                       {.path_prefix = directory + "/definition", .replacement = throttled});
    auto& ann = run(connect_through(proxy), usual("ann"));
    BOOST_TEST(has(ann, 12));
    BOOST_TEST(refused.fired() == 1u);
    ann.stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(ended(ann));
}

BOOST_AUTO_TEST_CASE(times_without_end)
{
    auto o = usual("ann");
    o.settle = o.prepare_limit = o.take_limit = std::chrono::milliseconds::max();
    o.prepare = [](const shard_id&) -> asio::awaitable<void> { co_return; };
    auto& ann = run(connect(), o);
    BOOST_TEST(has(ann, 12));
    o.member = "bob";
    auto& bob = run(connect(), o);
    BOOST_TEST(until([&] { return queue_of(directory + "/members").size() == 2; }));
    outcome<> left;
    ann.pieces.async_leave(20s, left.handler());
    BOOST_TEST(has(bob, 12));
    BOOST_TEST(!code_of(io, left));
    BOOST_TEST(all.moves == 12u);
}

BOOST_AUTO_TEST_CASE(leaving_while_becoming_a_member)
{
    auto& c = connect();
    for (int i = 0; i != 12; ++i) {
        auto& ann = run(c, usual("ann"));
        go_on(io, i * 1ms);
        outcome<> left;
        ann.pieces.async_leave(20s, left.handler());
        BOOST_TEST(!code_of(io, left));
        BOOST_TEST(ended(ann));
        BOOST_TEST(!ann.why);
        BOOST_TEST(all.owners.empty());
    }
    check_no_members();
}

BOOST_AUTO_TEST_CASE(leaving_twice_takes_the_shorter_time)
{
    const auto idle = join_idly(connect(), "idle");
    auto& ann = run(connect(), usual("ann"));
    BOOST_TEST(has(ann, 6));
    outcome<> first, second, third;
    ann.pieces.async_leave(1h, first.handler()); // the other one takes nothing
    go_on(io, 100ms);
    BOOST_TEST(all.of("ann") == 6u);
    ann.pieces.async_leave(0s, second.handler());
    ann.pieces.async_leave(1h, third.handler());
    BOOST_TEST(!code_of(io, first));
    BOOST_TEST(!code_of(io, second));
    BOOST_TEST(!code_of(io, third));
    BOOST_TEST(ended(ann));
    BOOST_TEST(!ann.why);
}

BOOST_AUTO_TEST_CASE(a_run_that_has_ended_watches_nothing)
{
    auto& ann = run(connect(), usual("ann"));
    auto& bob = run(connect(), usual("bob"));
    BOOST_TEST(until([&] { return all.of("ann") == 6 && all.of("bob") == 6; }));
    outcome<> left;
    ann.pieces.async_leave(20s, left.handler());
    BOOST_TEST(!code_of(io, left));
    BOOST_TEST(has(bob, 12));
    BOOST_TEST(until([&] { return watches_of(clients.front()).empty(); }));
    bob.stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(ended(bob));
    BOOST_TEST(until([&] { return server.watch_count() == 0; }));
    check_no_members();
}

// Its slowest body delays the next owner of one shard, and with a session that has ended of none.
BOOST_DATA_TEST_CASE_F(scene, a_run_that_ends_slowly_hands_on_its_other_shards,
                       boost::unit_test::data::make({false, true}), expires)
{
    std::optional<std::uint32_t> slow;
    asio::steady_timer its_end{io, asio::steady_timer::time_point::max()};
    auto& a = connect();
    auto& ann = members.emplace_back(a, directory, usual("ann"));
    ann.pieces.async_run(
        [&](const owned_shard& mine) -> asio::awaitable<void> {
            const auto shard = mine.index();
            all.begin(shard, "ann", mine.token());
            error_code ec;
            asio::steady_timer forever{io, asio::steady_timer::time_point::max()};
            co_await forever.async_wait(asio::redirect_error(asio::use_awaitable, ec));
            all.end(shard);
            if (slow == shard) {
                co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
                co_await its_end.async_wait(asio::redirect_error(asio::use_awaitable, ec));
            }
        },
        asio::bind_cancellation_slot(ann.stop.slot(), [&](std::exception_ptr) { ++ann.ends; }));
    BOOST_TEST(has(ann, 12));
    auto& b = connect();
    auto& bob = run(b, usual("bob"));
    const auto weight_of_ann = [&]() -> std::optional<std::uint32_t> {
        outcome<std::vector<member_view>> found;
        group{b, directory + "/members"}.async_members(found.handler());
        const auto there = value_of(io, found);
        const auto at = std::ranges::find(there, "ann", &member_view::name);
        return at == there.end() ? std::nullopt : std::optional{at->weight};
    };
    BOOST_TEST(until([&] { return all.of("ann") == 6 && all.of("bob") == 6; }));
    slow = std::ranges::find(all.owners, "ann", &decltype(all.owners)::value_type::second)->first;
    if (expires) {
        BOOST_REQUIRE(!kill_session(server.connect_string(), a.session_id(), password_of(a)));
        BOOST_TEST(until([&] { return weight_of_ann() == 0u; })); // it is a member again
        BOOST_TEST(has(bob, 12));
    } else {
        ann.stop.emit(asio::cancellation_type::terminal);
        BOOST_TEST(has(bob, 11));
    }
    BOOST_TEST(ann.ends == 0u);
    slow.reset();
    its_end.cancel();
    if (expires) {
        BOOST_TEST(has(ann, 6));
        ann.stop.emit(asio::cancellation_type::terminal);
    }
    BOOST_TEST(ended(ann));
    BOOST_TEST(has(bob, 12));
}

BOOST_AUTO_TEST_CASE(a_member_that_takes_nothing_loses_its_part_to_others)
{
    const auto idle = join_idly(connect(), "idle");
    auto o = usual("ann");
    o.prepare_limit = 20ms;
    o.take_limit = 100ms;
    auto& ann = run(connect(), o);
    BOOST_TEST(has(ann, 12));
    // It is given some again later, and still nobody is without an owner.
    BOOST_TEST(until([&] { return assignment().find(" idle\n") != std::string::npos; }));
    BOOST_TEST(all.of("ann") == 12u);
    BOOST_TEST(ann.bodies == 12u);
}

BOOST_AUTO_TEST_CASE(nothing_is_asked_while_a_member_does_not_take_its_part)
{
    const auto idle = join_idly(connect(), "idle");
    auto& a = connect();
    auto& ann = run(a, usual("ann"));
    BOOST_TEST(has(ann, 6));
    // Also where the directory of a lock is there, and nobody in it.
    unsigned free = 0;
    for (unsigned i = 0; i != 12; ++i) {
        if (!all.owners.contains(i)) {
            free = i;
        }
    }
    {
        outcome<unique_lock> held;
        mutex{connect(), directory + "/locks/" + std::to_string(free)}.async_lock(held.handler());
        const auto gone = value_of(io, held);
    }
    std::uint64_t before = 0;
    BOOST_TEST(until([&] {
        before = requests_of(a);
        go_on(io, 200ms);
        return before == requests_of(a) && a.stats().in_flight == 0;
    }));
    go_on(io, 1500ms);
    BOOST_TEST(requests_of(a) == before);
    BOOST_TEST(all.of("ann") == 6u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::shard_troubles_test
