// The scripts of docs/scripts.md: as they stand there, with a real server.
#include "run_scene.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>

namespace colock::test::cli_scripts_test {

using namespace std::chrono_literals;

namespace {

constexpr auto lock = "/locks/deploy"; // of the page

// The block behind "<!--file:NAME.sh-->".
std::string script_named(const std::string& name)
{
    const auto page = file_text(COLOCK_SCRIPTS_PAGE);
    const std::string fence = "```bash\n";
    const auto mark = page.find("<!--file:" + name + ".sh-->");
    BOOST_REQUIRE(mark != page.npos);
    const auto begin = page.find(fence, mark) + fence.size();
    return page.substr(begin, page.find("```\n", begin) - begin);
}

struct script_scene : scene {
    script_scene() { path = lock; }

    // A script of the page, with another text for some of its own.
    std::string file_of(const std::string& name,
                        const std::vector<std::pair<std::string, std::string>>& changes = {})
    {
        auto text = script_named(name);
        for (const auto& [before, after] : changes) {
            const auto at = text.find(before);
            BOOST_REQUIRE(at != text.npos);
            text.replace(at, before.size(), after);
        }
        const auto file = files.path() + '/' + name + ".sh";
        std::ofstream{file} << text;
        return file;
    }
    colock_process start(const std::string& file, std::vector<std::string> environment = {})
    {
        const std::filesystem::path program{COLOCK_PROGRAM};
        environment.push_back("PATH=" + program.parent_path().string() + ':' + std::getenv("PATH"));
        return colock_process{servers, {file, "an argument"}, std::move(environment), "/bin/bash"};
    }
    // Work that says that it runs, and goes on until `enough`.
    std::string working()
    {
        return "touch " + files.path() + "/runs; while [ ! -e " + files.path() +
               "/enough ]; do sleep 0.01; done";
    }
    void take_the_lock_away()
    {
        admin_session admin{servers};
        for (const auto& each : admin.children(path)) {
            admin.remove(path + '/' + each);
        }
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(cli_scripts, script_scene, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(the_whole_script_runs_under_the_lock)
{
    auto p = start(file_of("whole"));
    BOOST_TEST(p.status() == 0, p.err());
    BOOST_TEST(p.out().starts_with("migrate, with the token 0000"), p.out());
    BOOST_TEST(p.out().ends_with("\nrestart\nwarm the cache\n"), p.out());
    BOOST_TEST(p.err() == "");
    BOOST_TEST(queue() == 0u);
}

BOOST_AUTO_TEST_CASE(the_whole_script_waits_holds_and_has_its_status)
{
    auto first = start(file_of("whole", {{"echo \"restart\"", working() + "; exit 7"}}));
    BOOST_REQUIRE(runs());
    auto second = start(file_of("whole"));
    BOOST_TEST(queue_has(2));
    enough();
    BOOST_TEST(first.status() == 7);
    BOOST_TEST(second.status() == 0);
}

BOOST_AUTO_TEST_CASE(the_whole_script_ends_when_the_lock_is_lost)
{
    auto p = start(file_of("whole", {{"echo \"restart\"", working()}}));
    BOOST_REQUIRE(runs());
    take_the_lock_away();
    BOOST_TEST(p.status() == 120);
    BOOST_TEST(!has(p.out(), "warm the cache"));
}

BOOST_AUTO_TEST_CASE(a_part_of_a_script_runs_under_the_lock)
{
    auto p = start(file_of("part", {{"'echo \"restart\"'", "'echo \"restart\"; cat; (exit 0)'"}}));
    BOOST_TEST(p.status() == 0, p.err());
    BOOST_TEST(p.out() == "build, without a lock\ntell everybody, without a lock\n");
    BOOST_TEST(p.err().starts_with("migrate, with the token 0000"), p.err());
    BOOST_TEST(p.err().ends_with("\nrestart\n"), p.err());
    BOOST_TEST(queue() == 0u);
}

BOOST_AUTO_TEST_CASE(a_step_that_fails_has_its_status)
{
    auto p = start(file_of("part", {{"echo \"migrate, with the token $COLOCK_TOKEN\"", "exit 7"}}));
    BOOST_TEST(p.status() == 7, p.err());
    BOOST_TEST(p.out() == "build, without a lock\n");
    BOOST_TEST(!has(p.err(), "restart"), p.err());
    BOOST_TEST(queue_has(0));
}

BOOST_AUTO_TEST_CASE(a_step_ends_when_the_lock_is_lost_and_the_script_learns_of_it)
{
    auto p = start(file_of("part", {{"echo \"restart\"", working()}}));
    BOOST_REQUIRE(runs());
    take_the_lock_away();
    BOOST_TEST(p.status() == 120, p.err());
    BOOST_TEST(!has(p.out(), "tell everybody"), p.out());
}

BOOST_AUTO_TEST_CASE(a_lock_that_is_not_granted_runs_no_step)
{
    colock_process holder{servers, with({}, holding())};
    BOOST_REQUIRE(runs());
    auto p = start(file_of("part", {{"colock run", "colock run --try"}}));
    BOOST_TEST(p.status() == 123, p.err());
    BOOST_TEST(!has(p.err(), "migrate"), p.err());
    enough();
    BOOST_TEST(holder.status() == 0);
}

BOOST_AUTO_TEST_CASE(the_lock_of_a_script_that_is_killed_is_released)
{
    auto p = start(file_of("part", {{"&&\n    step 'echo \"restart\"'",
                                     "; touch " + files.path() + "/runs; read -r line"}}));
    BOOST_REQUIRE(runs());
    BOOST_TEST(queue() == 1u);
    p.process().send_signal(SIGKILL);
    BOOST_TEST(queue_has(0));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_scripts_test
