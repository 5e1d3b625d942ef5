// What the guardian is told of a command's environment, and when it ends the command: its rules, by example.
#include "run/guardian_policy.hpp"

#include "run/guardian_messages.hpp"
#include "run/variables.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace colock::cli;
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

// Such as a process of another user, which may run for hours.
BOOST_AUTO_TEST_CASE(what_cannot_be_killed_costs_little)
{
    guardian_policy p{terms};
    auto now = 20s + 0ms;
    int in_a_minute = 0;
    for (; now < 80s; ++in_a_minute) {
        p.lost(); // again and again
        BOOST_TEST(p.step(now, 10s) == order::kill);
        const auto next =
            std::chrono::duration_cast<std::chrono::milliseconds>(p.next_step(now, 10s));
        BOOST_TEST((next == now + 10ms || now >= 21s));
        now = next;
    }
    BOOST_TEST(in_a_minute < 400);
}

BOOST_AUTO_TEST_CASE(what_comes_second_does_not_make_the_grace_longer)
{
    guardian_policy p{terms};
    p.supervisor_gone(5s);
    BOOST_TEST(p.step(5s, 10s) == order::terminate);
    p.command_ended(6s);
    BOOST_TEST(p.step(7s, 10s) == order::kill);
}

BOOST_AUTO_TEST_CASE(variables_come_as_they_were_given_whatever_is_in_them)
{
    const std::vector<variable> all{{"COLOCK_PATH", "/a\nCOLOCK_NODE=/b\nLD_PRELOAD=x.so"},
                                    {"COLOCK_NODE", "7=COLOCK_X=\\0y"},
                                    {"COLOCK_SAFE_UNTIL", ""},
                                    {"COLOCK_TOKEN", std::nullopt}};
    BOOST_TEST((unpacked(packed(all)) == all));
    BOOST_TEST((unpacked("") == std::vector<variable>{}));
}

BOOST_AUTO_TEST_CASE(a_message_with_anything_else_in_it_starts_no_command)
{
    const auto whole = packed({{"COLOCK_PATH", "/locks/a"}, {"COLOCK_TOKEN", "12"}});
    for (std::size_t size = 1; size != whole.size(); ++size) {
        const auto found = unpacked(std::string_view{whole}.substr(0, size));
        BOOST_TEST((!found || found->size() == 1), size); // cut between the two
    }
    for (const std::string bad : {"", "COLOCK_a=x", "PATH=x", "PATH", "=x", "\nCOLOCK_A=x",
                                  "COLOCK_A\n", "BASH_FUNC_ls%%=x"}) {
        BOOST_TEST(!unpacked(bad + '\0'), bad);
        BOOST_TEST(!unpacked(whole + bad + '\0'), bad);
    }
    BOOST_TEST(!unpacked("COLOCK_A=x"));
    BOOST_CHECK_THROW(static_cast<void>(packed({{"PATH", "x"}})), std::invalid_argument);
    BOOST_CHECK_THROW(static_cast<void>(packed({{"COLOCK_A=B", "x"}})), std::invalid_argument);
    BOOST_CHECK_THROW(static_cast<void>(packed({{"COLOCK_A", std::string{"a\0b", 3}}})),
                      std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_message_is_read_whole_or_not_at_all)
{
    int ends[2];
    BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    message m{};
    BOOST_TEST(send(ends[0], {message_kind::start, 0, std::string(65'536, 'x')}));
    BOOST_TEST((receive(ends[1], m) == received::message));
    BOOST_TEST(m.text == std::string(65'536, 'x'));
    BOOST_CHECK_THROW(send(ends[0], {message_kind::start, 0, std::string(65'537, 'x')}),
                      std::length_error);
    const std::string longer(65'536 + 9, 'x');
    BOOST_REQUIRE(::send(ends[0], longer.data(), longer.size(), 0) ==
                  static_cast<ssize_t>(longer.size()));
    BOOST_TEST((receive(ends[1], m) == received::end));
    ::close(ends[0]);
    ::close(ends[1]);
}

BOOST_AUTO_TEST_SUITE_END()
