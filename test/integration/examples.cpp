// The examples do what they say, and leave nothing behind.
#include <support/admin_session.hpp>
#include <support/subprocess.hpp>
#include <support/wait_until.hpp>
#include <support/zookeeper_server.hpp>

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace colock::test;
using namespace std::chrono_literals;

// All programs lie in one directory.
std::string program(const std::string& name)
{
    return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

std::optional<std::string> next_line(subprocess& p)
{
    return p.read_line(30s);
}

struct own_server {
    zookeeper_server server;
};

BOOST_FIXTURE_TEST_SUITE(examples, own_server)

BOOST_AUTO_TEST_CASE(hello_lock_and_callbacks_print_a_token_and_end)
{
    for (const auto* name : {"hello_lock", "callbacks"}) {
        subprocess p{{program(name), server.connect_string()}, {.capture_output = true}};
        const auto line = next_line(p);
        BOOST_REQUIRE(line);
        BOOST_TEST(line->starts_with("hello, my fencing token is 0000"));
        BOOST_TEST(p.wait().success());
    }
    BOOST_TEST(server.sessions().empty());
}

// G3; also: the guard of a lock that was held for long enough to be watched goes just before the close.
BOOST_AUTO_TEST_CASE(graceful_shutdown_leaves_neither_lock_nor_session)
{
    subprocess p{{program("graceful_shutdown"), server.connect_string()}, {.capture_output = true}};
    const auto working = next_line(p);
    BOOST_REQUIRE(working);
    BOOST_TEST(working->starts_with("working"));
    BOOST_TEST(wait_until([&] { return server.watch_count() == 1; }, 30s));
    p.send_signal(SIGTERM);
    std::optional<std::string> last;
    for (auto line = next_line(p); line; line = next_line(p)) {
        last = line;
    }
    BOOST_TEST(last.value_or("") == "closed, nothing left behind");
    BOOST_TEST(p.wait().success());
    BOOST_TEST(server.sessions().empty());
    BOOST_TEST(server.ephemerals().empty());
}

// Somebody deletes its node by hand: it tells, and does not wait for a signal that never comes.
BOOST_AUTO_TEST_CASE(graceful_shutdown_ends_when_its_work_fails)
{
    subprocess p{{program("graceful_shutdown"), server.connect_string()}, {.capture_output = true}};
    BOOST_REQUIRE(next_line(p));
    admin_session admin{server.connect_string()};
    BOOST_TEST(wait_until(
        [&] {
            for (const auto& node : admin.children("/locks/jobs")) {
                admin.remove_if_there("/locks/jobs/" + node);
            }
            return server.sessions().size() == 1U; // the operator's
        },
        30s));
    std::optional<std::string> last;
    for (auto line = next_line(p); line; line = next_line(p)) {
        last = line;
    }
    BOOST_TEST(last.value_or("") == "closed, nothing left behind");
    BOOST_TEST(p.wait().code == 1);
}

BOOST_AUTO_TEST_CASE(fenced_store_refuses_the_stale_writer)
{
    subprocess p{{program("fenced_store"), server.connect_string()}, {.capture_output = true}};
    std::vector<std::string> lines;
    for (auto line = next_line(p); line; line = next_line(p)) {
        lines.push_back(*line);
    }
    BOOST_TEST(p.wait().success());
    BOOST_REQUIRE(lines.size() == 5U);
    BOOST_TEST(lines[0].ends_with("written"));
    BOOST_TEST(lines[2].ends_with("written"));
    BOOST_TEST(lines[3].find("the lock was lost") != std::string::npos);
    BOOST_TEST(lines[4].ends_with("refused"));
}

BOOST_AUTO_TEST_CASE(an_example_without_a_server_says_what_to_do)
{
    subprocess p{{program("hello_lock"), "nonsense:0"}};
    BOOST_TEST(p.wait().code == 1);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
