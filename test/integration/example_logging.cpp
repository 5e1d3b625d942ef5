// spdlog gets the lines of the client, with their levels, beside those of the program.
#include <support/admin_session.hpp>

#include "example_scene.hpp"

#include <algorithm>

namespace colock::test::example_logging_test {

BOOST_AUTO_TEST_SUITE(example_logging)

BOOST_FIXTURE_TEST_CASE(spdlog_has_the_lines_of_the_client, example_scene)
{
    example p{"logging", {server.hosts()}};
    const auto lines = p.rest();
    BOOST_TEST(p.wait().success());
    const auto count = [&](const std::string& beginning, const std::string& words) {
        return std::ranges::count_if(lines, [&](const std::string& line) {
            const auto at = line.find("] "); // behind the time
            return at != std::string::npos && line.substr(at + 2).starts_with(beginning) &&
                   line.find(words) != std::string::npos;
        });
    };
    for (const auto& line : lines) {
        BOOST_TEST_MESSAGE(line);
    }
    BOOST_TEST(count("[info] ", "at work with fencing token ") == 2);
    BOOST_TEST(count("[colock] [info] ", "connected") >= 1);
    BOOST_TEST(count("[colock] [debug] ", "/locks/orders") >= 2);
    check_nothing_left();

    example without{"logging", {"nonsense:0"}};
    BOOST_TEST(without.wait().code == 1);

    // A failure after it has connected ends it, too.
    admin_session admin{server.hosts()};
    admin.remove_tree("/locks");
    admin.create("/locks");
    admin.set_acl("/locks", {{1, "world", "anyone"}});
    example refused{"logging", {server.hosts()}};
    BOOST_TEST(refused.wait().code == 1);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::example_logging_test
