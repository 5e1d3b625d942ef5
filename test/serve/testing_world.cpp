// colock::testing::world: what a test does to a program, and that a seed is the same history each time.
#include <colock/client.hpp>
#include <colock/mutex.hpp>
#include <colock/testing/world.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

namespace colock::test {

using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

// A program that holds a lock as long as it can, and then tries again.
struct holder {
    bool holds = false;
    int grants = 0;
    error_code why;
    const unique_lock* guard = nullptr;

    testing::world::main_coroutine main()
    {
        return [this](asio::io_context& context, std::string hosts) -> asio::awaitable<void> {
            client zk{context, {.hosts = hosts}};
            co_await zk.async_connect(asio::use_awaitable);
            mutex m{zk, "/locks/m"};
            for (;;) {
                const auto held = co_await m.async_lock(asio::use_awaitable);
                guard = &held;
                holds = true;
                ++grants;
                why = co_await held.async_wait_lost(asio::use_awaitable);
                holds = false;
                guard = nullptr;
            }
        };
    }
};

struct scene {
    explicit scene(std::uint64_t seed = 1, testing::world_options options = {}) : w{seed, options}
    {
        w.start_process("first", first.main());
        BOOST_REQUIRE(w.run_until([this] { return first.holds; }, 10s));
    }
    void lost_and_taken_again()
    {
        BOOST_REQUIRE(w.run_until([this] { return first.grants == 2; }, 2min));
    }

    holder first, second;
    testing::world w;
};

std::pair<std::uint64_t, std::string> turbulence(std::uint64_t seed)
{
    scene s{seed};
    s.w.start_process("second", s.second.main(), {.drift = 100});
    s.w.start_rival("rival", "/locks/m", 50ms);
    s.w.run_for(5s);
    s.w.pause("first");
    s.w.run_for(20s);
    s.w.resume("first");
    s.w.cut("server 1", "server 2");
    s.w.run_for(20s);
    s.w.kill("second");
    s.w.mend("server 1", "server 2");
    s.w.restart("second");
    s.w.run_for(20s);
    return {s.w.hash(), s.w.history()};
}

} // namespace

BOOST_AUTO_TEST_SUITE(testing_world)

BOOST_AUTO_TEST_CASE(a_seed_is_the_same_history_each_time)
{
    const auto first = turbulence(7);
    BOOST_TEST(first.first == turbulence(7).first);
    BOOST_TEST(first.second == turbulence(7).second);
    BOOST_TEST(first.first != turbulence(8).first);
}

BOOST_AUTO_TEST_CASE(a_session_that_expires_is_a_lost_lock)
{
    scene s;
    BOOST_TEST(s.w.sessions("first").size() == 1U);
    s.w.expire("first");
    s.lost_and_taken_again();
    BOOST_TEST((s.first.why == condition::lock_lost));
    BOOST_TEST(s.w.sessions("first").size() == 1U);
}

BOOST_AUTO_TEST_CASE(an_operator_deletes_the_node_of_a_holder)
{
    scene s;
    BOOST_REQUIRE(s.w.nodes("/locks/m").size() == 1U);
    s.w.remove("/locks/m/" + s.w.nodes("/locks/m").front());
    s.lost_and_taken_again();
    BOOST_TEST((s.first.why == errc::node_deleted));
    s.w.remove("/locks"); // with all that is below it
    s.w.run_for(1s);
    BOOST_TEST(s.w.data("/nothing").has_value() == false);
    BOOST_TEST(s.first.grants == 3);
}

BOOST_AUTO_TEST_CASE(another_process_has_the_lock_when_the_holder_is_killed)
{
    scene s;
    s.w.start_process("second", s.second.main());
    s.w.run_for(5s);
    BOOST_TEST(!s.second.holds);
    s.w.kill("first");
    BOOST_TEST(s.w.has_ended("first"));
    BOOST_TEST(s.w.run_until([&] { return s.second.holds; }, 15s));
    s.w.restart("first");
    BOOST_TEST(!s.w.has_ended("first"));
    s.w.kill("second");
    BOOST_TEST(s.w.run_until([&] { return s.first.grants == 2; }, 15s));
}

BOOST_AUTO_TEST_CASE(a_link_may_be_cut_in_one_direction)
{
    scene s;
    for (const auto* server : {"server 1", "server 2", "server 3"}) {
        s.w.cut_one_way(server, "first");
    }
    BOOST_TEST(s.w.run_until([&] { return !s.first.holds; }, 10s));
    s.w.mend("first");
    s.lost_and_taken_again();
}

BOOST_AUTO_TEST_CASE(who_is_cut_off_is_so_for_those_who_come_later)
{
    scene s;
    const auto main = [](asio::io_context& context, std::string hosts) -> asio::awaitable<void> {
        client_options options;
        options.hosts = hosts.substr(0, hosts.find(',')); // server 1 alone
        options.connect_timeout = 1h;
        client zk{context, options};
        co_await zk.async_connect(asio::use_awaitable);
    };
    s.w.cut("server 1");
    s.w.start_process("late", main);
    s.w.run_for(5s);
    BOOST_TEST(s.w.history().find("late -> server 1") == std::string::npos);
    s.w.mend("server 1");
    BOOST_TEST(s.w.run_until([&] { return s.w.has_ended("late"); }, 1min));
}

BOOST_AUTO_TEST_CASE(who_is_cut_off_reaches_nobody_who_is_mended)
{
    scene s;
    s.w.cut("first");
    for (const auto* server : {"server 1", "server 2", "server 3"}) {
        s.w.cut(server);
        s.w.mend(server);
    }
    s.w.run_for(1min);
    BOOST_TEST(s.w.sessions("first").empty());
    BOOST_TEST(!s.first.holds);
}

BOOST_AUTO_TEST_CASE(a_rival_takes_part_as_soon_as_it_reaches_a_server)
{
    testing::world w{1};
    w.start_rival("rival", "/locks/m", 1s);
    w.cut("rival");
    w.run_for(1min);
    BOOST_TEST(!w.holds("rival"));
    w.mend("rival");
    BOOST_TEST(w.run_until([&] { return w.holds("rival"); }, 1min));
}

BOOST_AUTO_TEST_CASE(a_guard_is_asked_by_the_clock_of_its_process)
{
    scene s;
    const auto left = s.w.look("first", [&] { return s.first.guard->remaining(); });
    BOOST_TEST((left > 1s && left < 10s));
    s.w.suspend("first");
    s.w.run_for(1s);
    s.w.resume("first");
    bool held = false;
    s.w.perform("first", [&] { held = static_cast<bool>(*s.first.guard); });
    BOOST_TEST(held);
}

BOOST_AUTO_TEST_CASE(the_clock_of_a_process_may_be_fast)
{
    const auto shown = [](int drift) {
        testing::world w{1};
        w.start_process("clock", [](auto&, std::string) -> asio::awaitable<void> { co_return; },
                        {.drift = drift});
        const auto now = [&] {
            return w.look("clock", [] { return std::chrono::steady_clock::now(); });
        };
        const auto before = now();
        w.run_for(1000s);
        return now() - before;
    };
    BOOST_TEST((shown(0) == 1000s));
    BOOST_TEST((shown(1000) == 1001s));
}

BOOST_AUTO_TEST_CASE(outside_the_processes_clocks_are_the_systems)
{
    scene s;
    s.w.run_for(1h);
    BOOST_TEST((std::chrono::system_clock::now().time_since_epoch() > 24h * 365 * 50));
    const auto day = s.w.look("first", [] { return std::chrono::system_clock::now(); });
    BOOST_TEST((day.time_since_epoch() < 24h * 365 * 50));
    asio::io_context context;
    asio::steady_timer timer{context, 1ms};
    bool over = false;
    timer.async_wait([&](error_code) { over = true; });
    context.run();
    BOOST_TEST(over);
}

BOOST_AUTO_TEST_CASE(an_exception_leaves_the_world)
{
    testing::world w{1};
    bool other_went_on = false;
    const auto failing = [&](auto& context, std::string) -> asio::awaitable<void> {
        const auto other = [&]() -> asio::awaitable<void> {
            co_await asio::steady_timer{context, 1s}.async_wait(asio::use_awaitable);
            other_went_on = true;
        };
        asio::steady_timer second{context, 1s};
        asio::co_spawn(context, other(), asio::detached);
        co_await second.async_wait(asio::use_awaitable);
        throw std::domain_error{"as it was to be"};
    };
    w.start_process("failing", failing);
    BOOST_CHECK_THROW(w.run_for(2s), std::domain_error);
    BOOST_TEST(w.has_ended("failing"));
    w.run_for(1ms);
    BOOST_TEST(other_went_on);
}

BOOST_AUTO_TEST_CASE(a_process_goes_on_after_an_exception_that_a_pause_has_held_up)
{
    scene s;
    s.w.pause("first");
    s.w.perform("first", [] { throw std::domain_error{"as it was to be"}; });
    s.w.run_for(3s);
    BOOST_CHECK_THROW(s.w.resume("first"), std::domain_error);
    s.w.run_for(1min);
    BOOST_TEST(s.first.holds);
    BOOST_TEST(s.first.grants == 1);
}

BOOST_AUTO_TEST_CASE(the_clock_of_a_suspended_process_stands_still)
{
    scene s;
    const auto clock = [&] {
        return s.w.look("first", [] { return std::chrono::steady_clock::now(); });
    };
    s.w.suspend("first");
    const auto before = clock();
    s.w.run_for(1min);
    BOOST_TEST((clock() == before));
    s.w.resume("first");
    BOOST_TEST((clock() >= before));
}

BOOST_AUTO_TEST_CASE(who_may_not_read_a_node_does_not_hear_whether_it_is_there)
{
    testing::world w{1};
    error_code found;
    const auto main = [&](auto& context, std::string hosts) -> asio::awaitable<void> {
        client maker{context, {.hosts = hosts, .credentials = {{"digest", "maker:x"}}}};
        client other{context, {.hosts = hosts}};
        co_await maker.async_connect(asio::use_awaitable);
        co_await other.async_connect(asio::use_awaitable);
        const create_options mine{.acl = creator_acl()};
        co_await maker.async_create("/a", "", mine, asio::use_awaitable);
        found = std::get<0>(co_await other.async_exists("/a", asio::as_tuple(asio::use_awaitable)));
    };
    w.start_process("both", main);
    BOOST_REQUIRE(w.run_until([&] { return w.has_ended("both"); }, 1min));
    BOOST_TEST((found == zookeeper_errc::no_auth));
}

// As what is left of a time for several steps.
BOOST_AUTO_TEST_CASE(a_time_that_is_used_up_is_no_mistake)
{
    colock::testing::world w{1};
    w.run_for(2s);
    const auto left = 1s - w.now();
    BOOST_TEST(!w.run_until([] { return false; }, left));
    BOOST_TEST(w.run_until([] { return true; }, left));
    BOOST_TEST((w.now() == 2s));
}

BOOST_AUTO_TEST_CASE(mistakes_are_refused)
{
    scene s;
    BOOST_CHECK_THROW(s.w.pause("nobody"), std::invalid_argument);
    BOOST_CHECK_THROW(s.w.start_process("first", s.second.main()), std::invalid_argument);
    BOOST_CHECK_THROW(s.w.restart("first"), std::invalid_argument);
    BOOST_CHECK_THROW(static_cast<void>(s.w.holds("first")), std::invalid_argument);
    BOOST_CHECK_THROW(s.w.start_rival("rival", "locks", 1s), std::invalid_argument);
    BOOST_CHECK_THROW((colock::testing::world{1, {.servers = 0}}), std::invalid_argument);
    BOOST_CHECK_THROW((colock::testing::world{1, {.tick = 1ms}}), std::invalid_argument);
    constexpr auto never = std::chrono::milliseconds::max();
    BOOST_CHECK_THROW((colock::testing::world{1, {.least_session = never}}), std::invalid_argument);
    BOOST_CHECK_THROW((colock::testing::world{1, {.most_session = never}}), std::invalid_argument);
    BOOST_CHECK_THROW(s.w.delay(2us, 1us), std::invalid_argument);
    BOOST_CHECK_THROW(s.w.delay(-1us, 1us), std::invalid_argument);
    for (const int drift : {-1'000'000, 1'000'000}) {
        BOOST_CHECK_THROW(s.w.start_process("odd", s.second.main(), {.drift = drift}),
                          std::invalid_argument);
    }
    for (const auto time : {std::chrono::nanoseconds{-1}, std::chrono::nanoseconds::max()}) {
        BOOST_CHECK_THROW(s.w.run_for(time), std::invalid_argument);
    }
    BOOST_CHECK_THROW(s.w.run_until([] { return false; }, std::chrono::nanoseconds::max()),
                      std::invalid_argument);
    for (const auto time : {-1ms, std::chrono::milliseconds::max()}) {
        BOOST_CHECK_THROW(s.w.start_rival("rival", "/locks/m", time), std::invalid_argument);
    }
    asio::io_context context;
    const client_options options{.hosts = s.w.hosts()};
    BOOST_CHECK_THROW(client(context, options), std::logic_error); // outside the processes
}

BOOST_AUTO_TEST_CASE(the_history_is_for_people)
{
    scene s{1, {.history = 1000}};
    s.w.note("all is well");
    s.w.perform("first", [&] { s.w.note("so it is"); });
    const auto text = s.w.history();
    BOOST_TEST_INFO(text);
    for (const auto* line :
         {"first                     starts", "first -> server", "new session", "create /locks/m/",
          "test                      all is well", "first                     so it is"}) {
        BOOST_TEST(text.find(line) != text.npos, line);
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test
