// Each check sees what it is there for, and nothing in what is right.
#include "check/counter.hpp"
#include "check/findings.hpp"
#include "check/holds.hpp"
#include "check/journal.hpp"
#include "check/operations.hpp"
#include "check/queues.hpp"
#include "simulated.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using world::change;
using world::transaction;
using world::check::mode;

constexpr std::int64_t alice = 1;
constexpr std::int64_t bob = 2;

struct scene {
    scene()
    {
        lock = queues.add({.path = "/lock", .marker = "lock-", .written = "/written"});
        single = queues.add({.type = world::check::queues::kind::single_node, .path = "/single"});
        permits = queues.add({.type = world::check::queues::kind::leases,
                              .path = "/leases",
                              .marker = "lease-",
                              .permits = 2});
        counted = queues.add({.type = world::check::queues::kind::leases,
                              .path = "/counted",
                              .marker = "lease-",
                              .counter = "/limit"});
        for (const auto session : {alice, bob, std::int64_t{3}, std::int64_t{4}}) {
            commit({.what = transaction::kind::open_session, .session = session});
        }
    }

    void commit(transaction t) { queues.committed(t); }
    std::string create(const std::string& directory, const std::string& name, std::int64_t session)
    {
        const auto path = directory + "/_c_guid-" + name;
        commit({.what = transaction::kind::single,
                .session = session,
                .changes = {{.what = change::kind::create, .path = path, .owner = session}}});
        return path;
    }
    std::string join(int number, std::int64_t session)
    {
        return create("/lock", "lock-000000000" + std::to_string(number), session);
    }
    void remove(const std::string& path, std::int64_t session)
    {
        commit({.what = transaction::kind::single,
                .session = session,
                .changes = {{.what = change::kind::remove, .path = path}}});
    }
    void expire(std::int64_t session, const std::string& path)
    {
        commit({.what = transaction::kind::close_session,
                .session = session,
                .changes = {{.what = change::kind::remove, .path = path}},
                .expired = true});
    }

    world::check::holds::number grant(const std::string& node, std::int64_t session,
                                      std::uint64_t token, mode how = mode::exclusive,
                                      std::chrono::nanoseconds safe = 1s)
    {
        world::check::holds::grant g;
        g.place = node == "/single"              ? single
                  : how != mode::permits         ? lock
                  : node.starts_with("/counted") ? counted
                                                 : permits;
        g.how = how;
        g.owner = life;
        g.where = &machine;
        g.session = session;
        g.nodes = {node};
        g.token = {token, 0};
        g.lead = 100ms;
        g.remaining = [safe] { return safe; };
        return holds.granted(std::move(g));
    }

    [[nodiscard]] bool found(const std::string& check) const
    {
        return std::ranges::any_of(findings.first(),
                                   [&](const auto& v) { return v.check == check; });
    }

    world::timeline time;
    world::check::findings findings{time};
    world::check::journal journal{time, true};
    world::check::journal::actor somebody = journal.add_actor("somebody");
    world::check::queues queues{time, findings, journal, somebody};
    world::check::holds holds{time, findings, journal, queues};
    world::check::operations operations{time, findings, journal};
    world::machine machine{time, "machine"};
    std::shared_ptr<world::check::life> life = std::make_shared<world::check::life>();
    std::size_t lock = 0;
    std::size_t single = 0;
    std::size_t permits = 0;
    std::size_t counted = 0; // by a node

    std::string make_single(std::int64_t session)
    {
        commit({.what = transaction::kind::single,
                .session = session,
                .changes = {{.what = change::kind::create, .path = "/single", .owner = session}}});
        return "/single";
    }
    void limit(std::int64_t permits_now)
    {
        commit({.what = transaction::kind::single,
                .changes = {{.what = change::kind::set,
                             .path = "/limit",
                             .data = world::check::bytes_of(permits_now)}}});
    }
    void take_counted(int number)
    {
        grant(create("/counted", "lease-000000000" + std::to_string(number), alice), alice, 0,
              mode::permits, 60s);
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(checks, scene)

BOOST_AUTO_TEST_CASE(turns_in_order_are_right)
{
    const auto first = join(1, alice);
    const auto second = join(2, bob);
    const auto n = grant(first, alice, 1);
    BOOST_TEST(holds.write(n));
    holds.let_go(n);
    remove(first, alice);
    const auto m = grant(second, bob, 2);
    BOOST_TEST(holds.write(m));
    holds.let_go(m);
    remove(second, bob);
    queues.report_left();
    BOOST_TEST(findings.count() == 0u);
}

BOOST_AUTO_TEST_CASE(two_hold_it_at_a_time)
{
    grant(join(1, alice), alice, 1);
    grant(join(2, bob), bob, 2);
    BOOST_TEST(found("G1 exclusion"));
    BOOST_TEST(found("G2 order"));
}

BOOST_AUTO_TEST_CASE(one_that_is_not_safe_any_more_is_no_holder)
{
    const auto first = join(1, alice);
    grant(first, alice, 1, mode::exclusive, 0s);
    expire(alice, first);
    grant(join(2, bob), bob, 2);
    BOOST_TEST(findings.count() == 0u);
}

BOOST_AUTO_TEST_CASE(a_token_that_does_not_grow)
{
    const auto first = join(1, alice);
    holds.let_go(grant(first, alice, 2));
    remove(first, alice);
    grant(join(2, bob), bob, 2);
    BOOST_TEST(found("G1 token"));
}

BOOST_AUTO_TEST_CASE(a_token_that_is_written_behind_a_greater_one)
{
    for (const auto* const text : {"02", "01"}) {
        commit({.what = transaction::kind::single,
                .session = alice,
                .changes = {{.what = change::kind::set, .path = "/written", .data = text}}});
    }
    BOOST_TEST(found("G1 guarded write"));
}

BOOST_AUTO_TEST_CASE(too_many_permits)
{
    for (int i = 1; i <= 3; ++i) {
        BOOST_TEST(findings.count() == 0u);
        grant(create("/leases", "lease-000000000" + std::to_string(i), i), i, 0, mode::permits);
    }
    BOOST_TEST(found("G1 permits"));
}

BOOST_AUTO_TEST_CASE(granted_without_a_node)
{
    grant("/lock/_c_guid-lock-0000000001", alice, 1);
    BOOST_TEST(found("G1 no node"));
}

BOOST_AUTO_TEST_CASE(the_node_of_a_holder_is_deleted)
{
    const auto mine = join(1, alice);
    grant(mine, alice, 1);
    remove(mine, alice);
    BOOST_TEST(found("G1 own node"));
    const auto next = join(2, bob);
    const auto n = grant(next, bob, 2, mode::exclusive, 0s);
    remove(next, alice);
    BOOST_TEST(found("G1 foreign node"));
    holds.let_go(n);
}

BOOST_AUTO_TEST_CASE(a_release_comes_after_an_operator_has_deleted_its_node)
{
    make_single(alice);
    constexpr std::int64_t nobody = 0;
    remove("/single", nobody);
    grant(make_single(bob), bob, 1);
    remove("/single", alice);
    BOOST_TEST(findings.count() == 0u);
    grant(make_single(bob), bob, 2);
    remove("/single", 3);
    BOOST_TEST(found("G1 foreign node"));
}

BOOST_AUTO_TEST_CASE(permits_that_are_held_stay_when_their_number_falls)
{
    limit(2);
    take_counted(1);
    take_counted(2);
    time.run_until(10s);
    limit(1);
    BOOST_TEST(findings.count() == 0u);
    time.run_until(20s);
    limit(3);
    take_counted(3);
    BOOST_TEST(findings.count() == 0u);
}

BOOST_AUTO_TEST_CASE(permits_whose_grant_comes_behind_a_larger_number)
{
    limit(1);
    const auto first = create("/counted", "lease-0000000001", alice);
    time.run_until(10s);
    limit(2);
    time.run_until(11s);
    take_counted(2);
    grant(first, alice, 0, mode::permits, 60s);
    BOOST_TEST(findings.count() == 0u);
}

BOOST_AUTO_TEST_CASE(permits_beyond_a_number_that_has_fallen)
{
    limit(2);
    take_counted(1);
    time.run_until(10s);
    take_counted(2);
    limit(1); // takes none away
    BOOST_TEST(findings.count() == 0u);
    time.run_until(11s);
    take_counted(3);
    BOOST_TEST(found("G1 permits"));
}

BOOST_AUTO_TEST_CASE(an_operator_may_delete_it)
{
    const auto mine = join(1, alice);
    grant(mine, alice, 1);
    remove(mine, 0);
    grant(join(2, bob), bob, 2);
    BOOST_TEST(findings.count() == 0u);
    time.run_until(10s);
    holds.look(5s);
    BOOST_TEST(found("G5 silent loss"));
}

BOOST_AUTO_TEST_CASE(a_session_ends_while_its_lock_counts_as_safe)
{
    const auto mine = join(1, alice);
    holds.watched(grant(mine, alice, 1));
    expire(alice, mine);
    BOOST_TEST(found("G5 bound"));
    BOOST_TEST(found("G5 told"));
}

BOOST_AUTO_TEST_CASE(a_holder_is_told_too_late)
{
    const auto mine = join(1, alice);
    const auto n = grant(mine, alice, 1, mode::exclusive, 0s);
    holds.watched(n);
    time.run_until(1s);
    holds.told(n, colock::errc::safe_until_passed);
    time.run_until(1050ms); // half of the lead
    expire(alice, mine);
    BOOST_TEST(found("G5 lead"));
    BOOST_TEST(!found("G5 told"));
}

BOOST_AUTO_TEST_CASE(a_node_is_left)
{
    join(1, alice);
    queues.report_left();
    BOOST_TEST(found("G3 orphan"));
}

BOOST_AUTO_TEST_CASE(the_first_one_waits)
{
    join(1, alice);
    time.run_until(20s);
    queues.report_waiting(15s, [&](const std::string& node) { return holds.is_held(node); });
    BOOST_TEST(found("G4 lost wake-up"));
}

BOOST_AUTO_TEST_CASE(a_deletion_wakes_many)
{
    const auto first = join(1, alice);
    remove(first, alice);
    for (std::int64_t other = alice; other <= 3; ++other) { // its own does not count
        queues.woken(other, colock::watch_event_type::deleted, first);
    }
    BOOST_TEST(!found("G7 herd"));
    queues.woken(4, colock::watch_event_type::deleted, first);
    BOOST_TEST(found("G7 herd"));
}

BOOST_AUTO_TEST_CASE(operations_that_complete_as_they_should_not)
{
    const auto begun = [&] { return operations.begin(life, somebody, "it"); };
    const auto inline_one = begun();
    operations.completed(*inline_one);
    BOOST_TEST(found("G6 not inline"));

    const auto twice = begun();
    twice->initiating = false;
    operations.completed(*twice);
    BOOST_TEST(!found("G6 once"));
    operations.completed(*twice);
    BOOST_TEST(found("G6 once"));

    const auto keeps = begun();
    keeps->initiating = false;
    keeps->memory = 1;
    operations.completed(*keeps);
    BOOST_TEST(found("G6 memory"));

    const auto never = begun();
    operations.report_pending("G6 pending");
    BOOST_TEST(found("G6 pending"));

    life->over = true;
    BOOST_TEST(operations.pending() == 0u);
    operations.completed(*never);
    BOOST_TEST(found("G6 not after the context"));
}

BOOST_AUTO_TEST_CASE(the_same_history_has_the_same_hash)
{
    world::timeline clock;
    world::check::journal one{clock, true};
    world::check::journal other{clock, false};
    for (auto* j : {&one, &other}) {
        j->note(world::check::deed::granted, j->add_actor("a"), 7);
    }
    BOOST_TEST(one.hash() == other.hash());
    BOOST_TEST(one.entries().size() == 1u);
    other.note(world::check::deed::let_go, 0, 7);
    BOOST_TEST(one.hash() != other.hash());
}

BOOST_AUTO_TEST_SUITE_END()
