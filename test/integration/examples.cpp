// The examples of one process do what they say, and leave nothing behind. The others have tests of their own.
#include <support/admin_session.hpp>
#include <support/loopback_port.hpp>
#include <support/wait_until.hpp>

#include "example_scene.hpp"

#include <algorithm>

namespace colock::test::examples_test {

BOOST_FIXTURE_TEST_SUITE(examples, example_scene)

BOOST_AUTO_TEST_CASE(a_greeting_has_a_token)
{
    for (const auto* name : {"hello_lock", "callbacks", "yield", "as_tuple"}) {
        BOOST_TEST_CONTEXT(name)
        {
            example p{name, {server.hosts()}};
            BOOST_TEST(p.line_after("hello, my fencing token is ").size() == 32U);
            BOOST_TEST(p.rest().empty());
            BOOST_TEST(p.wait().success());
            check_nothing_left();
        }
    }
}

BOOST_AUTO_TEST_CASE(without_a_server_each_says_so_and_fails)
{
    const loopback_port nobody;
    example tuple{"as_tuple", {nobody.address()}};
    std::vector<std::string> names{"hello_lock", "callbacks", "futures"};
#ifndef __SANITIZE_ADDRESS__ // GCC's, which cannot follow an exception through a stack of Boost.Context
    names.emplace_back("yield");
#endif
    for (const auto& name : names) {
        BOOST_TEST_CONTEXT(name)
        {
            example p{name, {"nonsense:0"}};
            BOOST_TEST(p.rest().empty());
            BOOST_TEST(p.wait().code == 1);
        }
    }
    example bad_path{"as_tuple", {server.hosts(), "locks"}};
    BOOST_TEST(bad_path.wait().code == 1);
    BOOST_TEST(tuple.wait().code == 75); // later it may succeed
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(threads_of_two_processes_draw_different_numbers)
{
    example one{"futures", {server.hosts()}};
    example other{"futures", {server.hosts()}};
    std::vector<std::string> drawn;
    for (int i = 0; i < 4; ++i) {
        drawn.push_back(one.line());
        drawn.push_back(other.line());
    }
    std::ranges::sort(drawn);
    for (int i = 1; i <= 8; ++i) {
        BOOST_TEST(drawn[static_cast<std::size_t>(i - 1)] == "number " + std::to_string(i));
    }
    BOOST_TEST(one.wait().success());
    BOOST_TEST(other.wait().success());
    BOOST_TEST(admin_session{server.hosts()}.get("/counter") == "8");
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_timed_try_says_who_is_at_it)
{
    example first{"timed_try", {server.hosts(), "30000", "60000"}};
    first.line_after("making the backup");
    example second{"timed_try", {server.hosts(), "3000", "0"}};
    const auto holder = second.line_after("busy: ");
    BOOST_TEST_INFO(holder);
    BOOST_TEST(holder.find(':' + std::to_string(first.pid()) + " (timed_try)") !=
               std::string::npos);
    BOOST_TEST(second.rest().empty());
    BOOST_TEST(second.wait().success());

    // An operator takes the lock away from the first one.
    const auto contenders = [&] { return server.nodes("/locks/backup"); };
    BOOST_REQUIRE(wait_until([&] { return contenders().size() == 1U; }, 30s));
    server.remove("/locks/backup/" + contenders().front());
    BOOST_TEST(first.wait().code == 1);
    example third{"timed_try", {server.hosts(), "30000", "0"}};
    third.line_after("making the backup");
    third.line_after("the backup has 42 files");
    BOOST_TEST(third.wait().success());
    BOOST_TEST(contenders().empty());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::examples_test
