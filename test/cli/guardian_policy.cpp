// When the guardian ends a command: its rules, by example.
#include "run/guardian_policy.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <ostream>

using namespace std::chrono_literals;
using colock::cli::ending_terms;
using colock::cli::guardian_policy;
using order = guardian_policy::order;

namespace colock::cli {

std::ostream& boost_test_print_type(std::ostream& out, guardian_policy::order o)
{
    constexpr const char* names[] = {"nothing", "terminate", "kill"};
    return out << names[static_cast<int>(o)];
}

} // namespace colock::cli

namespace {

constexpr ending_terms terms{.grace = 2s, .margin = 3s};
constexpr auto kill_by = terms.margin - ending_terms::for_sigkill; // behind the bound

} // namespace

BOOST_AUTO_TEST_SUITE(guardian_policy_)

BOOST_AUTO_TEST_CASE(nothing_happens_before_the_bound_and_it_may_move_on)
{
    guardian_policy p{terms};
    BOOST_TEST(p.step(1s, 10s) == order::nothing);
    BOOST_CHECK(p.next_step(1s, 10s) == 10s);
    BOOST_TEST(p.step(10s, 20s) == order::nothing);
    BOOST_CHECK(p.next_step(10s, 20s) == 20s);
}

BOOST_AUTO_TEST_CASE(G5_at_the_bound_there_is_a_grace_and_then_no_mercy)
{
    guardian_policy p{terms};
    BOOST_TEST(p.step(10s, 10s) == order::terminate);
    BOOST_CHECK(p.next_step(10s, 10s) == 12s);
    BOOST_TEST(p.step(11s, 10s) == order::nothing);
    BOOST_TEST(p.step(12s, 10s) == order::kill);
    BOOST_TEST(p.step(12s + 10ms, 10s) == order::kill); // until nothing is left
}

BOOST_AUTO_TEST_CASE(G5_a_guardian_that_is_late_gives_less_grace)
{
    guardian_policy late{terms};
    BOOST_TEST(late.step(12s + 500ms, 10s) == order::terminate);
    BOOST_CHECK(late.next_step(12s + 500ms, 10s) == 10s + kill_by);
    BOOST_TEST(late.step(10s + kill_by, 10s) == order::kill);

    guardian_policy too_late{terms}; // such as behind the sleep of the machine
    BOOST_TEST(too_late.step(60s, 10s) == order::kill);
}

BOOST_AUTO_TEST_CASE(a_command_that_has_ended_leaves_its_grace_to_what_is_left)
{
    guardian_policy p{terms};
    p.command_ended(5s);
    BOOST_TEST(p.step(5s, 10s) == order::terminate);
    BOOST_TEST(p.step(6s, 10s) == order::nothing);
    BOOST_TEST(p.step(7s, 10s) == order::kill);
}

BOOST_AUTO_TEST_CASE(G5_the_bound_ends_the_grace_of_a_supervisor_that_is_gone)
{
    guardian_policy p{{.grace = 2s, .margin = 2s + ending_terms::for_sigkill}};
    p.supervisor_gone(9s);
    BOOST_TEST(p.step(9s, 8s) == order::terminate);
    BOOST_TEST(p.step(10s, 8s) == order::kill);
}

BOOST_AUTO_TEST_CASE(a_loss_behind_which_another_client_may_hold_the_lock_kills_at_once)
{
    guardian_policy p{terms};
    p.lost();
    BOOST_TEST(p.step(1s, 10s) == order::kill);

    guardian_policy in_grace{terms};
    in_grace.command_ended(5s);
    BOOST_TEST(in_grace.step(5s, 10s) == order::terminate);
    in_grace.lost();
    BOOST_TEST(in_grace.step(5s, 10s) == order::kill);
    in_grace.supervisor_gone(6s);
    BOOST_TEST(in_grace.step(6s, 10s) == order::kill);
}

BOOST_AUTO_TEST_CASE(what_comes_second_does_not_make_the_grace_longer)
{
    guardian_policy p{terms};
    p.supervisor_gone(5s);
    BOOST_TEST(p.step(5s, 10s) == order::terminate);
    p.command_ended(6s);
    BOOST_TEST(p.step(7s, 10s) == order::kill);
}

BOOST_AUTO_TEST_SUITE_END()
