// Redis refuses the late write of an earlier holder.
#include <colock/fence/statements.hpp>

#include "store_server.hpp"

#include <sstream>

using namespace colock::test;
namespace fence = colock::fence::redis;

namespace {

struct redis : store_server {
    explicit redis(const std::string& locale = "C")
    {
        if (find_program("redis-server").empty()) {
            skip("redis-server is missing");
        }
        if (locale != "C") {
            run({"localedef", "-i", locale, "-f", "UTF-8", directory() + '/' + locale});
        }
        start({"env", "LOCPATH=" + directory(), "LC_ALL=" + locale, "redis-server", "--port",
               port(), "--bind", "127.0.0.1", "--save", "", "--dir", directory()},
              SIGTERM);
        BOOST_REQUIRE(wait_until([&] { return listens(); }, 30s));
    }

    // The first line that one of Redis' programs prints that contains a text.
    std::string ask(std::vector<std::string> command, const std::string& text = {}) const
    {
        command.insert(command.begin() + 1, {"-h", "127.0.0.1", "-p", port()});
        subprocess program{command, {.capture_output = true}};
        std::string found;
        while (const auto line = program.read_line(60s)) {
            found = found.empty() && line->find(text) != std::string::npos ? *line : found;
        }
        BOOST_TEST(program.wait().success());
        return found;
    }
    std::string load(const std::string& script) const
    {
        return ask({"redis-cli", "SCRIPT", "LOAD", script});
    }
    // Of a command, in microseconds.
    double latency(const std::string& command) const
    {
        const std::string unit = " requests per second";
        std::vector<std::string> line{"redis-benchmark", "-c", "1", "-n", "5000", "-q"};
        std::istringstream words{command};
        for (std::string word; words >> word;) {
            line.push_back(word);
        }
        const auto said = ask(line, unit);
        const auto end = said.find(unit);
        BOOST_REQUIRE(end != std::string::npos);
        return 1e6 / std::stod(said.substr(said.rfind(' ', end - 1) + 1));
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(fence_redis)

BOOST_AUTO_TEST_CASE(a_late_write_is_refused)
{
    const redis store;
    fence_scene{"fenced_redis", "libhiredis-dev", store.port()}.late_write_is_refused();
}

BOOST_AUTO_TEST_CASE(a_late_write_is_refused_when_the_next_holder_has_read)
{
    const redis store;
    fence_scene scene{"fenced_redis", "libhiredis-dev", store.port()};
    auto stale = scene.start();
    stale.wait_for_question();
    BOOST_REQUIRE(stale.stop());
    scene.take_lock_away();
    auto next = scene.start();
    next.wait_for_question();

    stale.answer("old news");
    stale.resume();
    stale.expect_refused();
    next.answer("good news");
    next.expect_written();
    BOOST_TEST(next.old().empty());
    BOOST_TEST(scene.reads() == "good news");
}

// In Danish "aa" is a letter after z, and Lua compares texts as the server's locale says.
BOOST_AUTO_TEST_CASE(a_locale_changes_no_order)
{
    redis store{"da_DK"};
    const std::string earlier = "000000000000aa000000000000000000",
                      later = "000000000000ab000000000000000000";
    const auto presents = [&](const std::string& token) {
        return store.ask({"redis-cli", "EVAL", std::string{fence::present} + "return 'accepted'",
                          "1", "{note}:fence", token});
    };
    BOOST_TEST(presents(earlier) == "accepted");
    BOOST_TEST(presents(later) == "accepted");
    BOOST_TEST(fence::refused(presents(earlier)));
    BOOST_TEST(presents(later) == "accepted");
}

BOOST_AUTO_TEST_CASE(cost)
{
    const redis store;
    const std::string token = "00000000000000070000000000000001";
    const std::string write = "return redis.call('SET', KEYS[2], ARGV[2])";
    const auto arguments = " 2 {note}:fence {note}:text " + token + " news";
    const auto best =
        least_of({"SET {note}:text news", "EVALSHA " + store.load(write) + arguments,
                  "EVALSHA " + store.load(std::string{fence::present} + write) + arguments},
                 [&](const std::string& command) { return store.latency(command); });
    std::cout << "figure: Redis on this machine: SET takes " << best[0] << " us, in a script "
              << best[1] << " us, in a script with a fence " << best[2] << " us" << std::endl;
    const auto writes = [&](const std::string& presented) {
        return store.ask({"redis-cli", "EVAL", std::string{fence::present} + write, "2",
                          "{note}:fence", "{note}:text", presented, "news"});
    };
    BOOST_TEST(writes(token) == "OK"); // once more
    BOOST_TEST(fence::refused(writes(std::string(32, '0'))));
    BOOST_TEST(store.ask({"redis-cli", "GET", "{note}:fence"}) == token);
    BOOST_TEST(store.ask({"redis-cli", "GET", "{note}:text"}) == "news");
}

BOOST_AUTO_TEST_SUITE_END()
