// Long queues, in which those who have held the lock leave a low-water mark in the directory, and spare others the list of all:
// in order (G2), alone (G1), to the end (G4), and nothing is left (G3), with marks or without.
#include <support/lock_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using namespace colock;
using namespace colock::test;

namespace {

const std::string mark = "made by colock, to be deleted when it is empty";
const std::string low_water_mark = mark + "\nnobody is left up to /lock-00000000";
const std::string foreign =
    "/_c_5f6b3a52-8d1c-4f0e-9c0a-3a1d2b4c5e6f-lock-"; // as Curator writes it

// Of its own accord the client sends nothing within a case.
const client_options quiet{.session_timeout = 40s};

// Numbers as they stand in the queue: 0 holds the lock, 1 and so on wait.
constexpr int waiters = 40;
// A waiter lists again if it joined while the queue was short: the fourth one, and those behind it.
constexpr std::size_t lists_without_a_mark = 12;

struct long_queue : lock_scene {
    long_queue() : proxy{server.connect_string()}, c{connect_through(proxy, quiet)} {}

    // Each with a node of its own, behind one who holds the lock.
    void queue_up(int number, const lock_options& options = {})
    {
        held = hold(c, options);
        add(number, options);
    }
    void add(int number, const lock_options& options = {})
    {
        const auto length = queue().size() + static_cast<std::size_t>(number);
        for (int i = 0; i != number; ++i) {
            waiting.push_back(start_lock(c, options));
        }
        BOOST_REQUIRE(until([&] { return queue().size() == length; }));
        settle();
    }
    void settle()
    {
        BOOST_REQUIRE(until([&] { return c.stats().in_flight == 0; }));
    }

    // The lock goes to the next one of those who wait, and to nobody else.
    void hand_over()
    {
        BOOST_REQUIRE(!waiting.front().done());
        BOOST_REQUIRE(unlock(held) == error_code{});
        accept();
    }
    void accept()
    {
        auto next = std::move(waiting.front());
        waiting.erase(waiting.begin());
        held = value_of(io, next);
        BOOST_TEST((server_has_first(held.node())));
        settle();
        for (const auto& other : waiting) {
            BOOST_REQUIRE(!other.done());
        }
    }
    void hand_over(int times)
    {
        while (times-- != 0) {
            hand_over();
        }
    }
    void finish()
    {
        hand_over(static_cast<int>(waiting.size()));
        BOOST_TEST(unlock(held) == error_code{});
        check_nothing_left();
    }
    [[nodiscard]] bool server_has_first(const std::string& node)
    {
        return directory + '/' + queue().front() == node;
    }

    tcp_proxy proxy;
    client& c;
    unique_lock held;
    std::vector<outcome<unique_lock>> waiting;
};

} // namespace

BOOST_AUTO_TEST_SUITE(long_queue_cases)

BOOST_AUTO_TEST_CASE(G2_a_long_queue_is_listed_no_more_than_a_short_one)
{
    for (const int number : {waiters, 3 * waiters}) {
        long_queue q;
        q.queue_up(1);
        for (int i = 1; i != number; ++i) {
            q.add(1); // nobody shares a listing
        }
        const auto lists = q.proxy.requests(any_get_children());
        const auto requests = q.proxy.requests();
        q.hand_over(number);
        BOOST_TEST(q.proxy.requests(any_get_children()) - lists == lists_without_a_mark);
        // A hand-over: remove, and one read of the data where a list would be without a mark.
        BOOST_TEST(q.proxy.requests() - requests <= static_cast<std::size_t>(3 * number));
        BOOST_TEST(q.admin.get(q.directory).starts_with(mark + '\n'));
        q.finish();
    }
}

BOOST_AUTO_TEST_CASE(each_mark_tells_who_has_left_last)
{
    long_queue q;
    q.queue_up(waiters);
    q.hand_over(25);
    BOOST_TEST(q.admin.get(q.directory) == low_water_mark + "24");
    q.hand_over();
    BOOST_TEST(q.admin.get(q.directory) == low_water_mark + "25");
    q.finish();
}

BOOST_AUTO_TEST_CASE(a_short_queue_has_no_mark)
{
    long_queue q;
    q.queue_up(10);
    q.hand_over(10);
    BOOST_TEST(q.admin.get(q.directory) == mark);
    q.finish();
}

BOOST_AUTO_TEST_CASE(G3_a_directory_that_must_not_be_written_to)
{
    long_queue q;
    q.queue_up(waiters);
    q.admin.set_acl(q.directory, {{31 - 2, "world", "anyone"}});
    const auto transactions = q.proxy.requests(opcode::multi);
    q.hand_over(waiters);
    BOOST_TEST(q.proxy.requests(opcode::multi) - transactions == 1U); // not one for each
    BOOST_TEST(q.admin.get(q.directory) == mark);
    q.finish();
}

BOOST_AUTO_TEST_CASE(a_directory_of_somebody_else_is_not_written_to)
{
    for (const std::string data : {"", "mine", "made by colock"}) {
        long_queue q;
        q.admin.create(q.directory, data);
        q.queue_up(waiters);
        q.hand_over(waiters);
        admin_session::stat details;
        BOOST_TEST(q.admin.get(q.directory, &details) == data);
        BOOST_TEST(details.version == 0);
        q.finish();
    }
}

BOOST_AUTO_TEST_CASE(a_directory_that_was_seen_to_be_colocks_is_not_asked_for_again)
{
    long_queue q;
    q.queue_up(waiters);
    const auto reads = q.proxy.requests(opcode::get_data);
    q.add(1);
    BOOST_TEST(q.proxy.requests(opcode::get_data) - reads ==
               3U); // the watches: its own node, and two before it
    q.finish();
}

BOOST_AUTO_TEST_CASE(a_directory_in_the_place_of_one_of_colocks_is_not_written_to)
{
    long_queue q;
    const mutex used{q.c, q.directory, {.max_local_grants = 0}}; // all the time
    q.queue_up(waiters);
    q.finish();
    q.admin.remove(q.directory);
    q.admin.create(q.directory, "mine");
    q.queue_up(waiters);
    q.hand_over(waiters);
    BOOST_TEST(q.admin.get(q.directory) == "mine");
    q.finish();
}

// It has no creation of its own, and is nobody's.
BOOST_AUTO_TEST_CASE(the_root_is_not_written_to)
{
    zookeeper_server own;
    lock_scene s{own, "/"};
    auto& c = s.connect(quiet);
    const auto data = s.admin.get("/");
    auto held = s.hold(c);
    std::vector<outcome<unique_lock>> waiting;
    for (int i = 0; i != waiters; ++i) {
        waiting.push_back(s.start_lock(c));
    }
    BOOST_REQUIRE(s.until([&] { return s.queue().size() == waiters + 2U; })); // and "/zookeeper"
    for (auto& next : waiting) {
        BOOST_TEST(s.unlock(held) == error_code{});
        held = value_of(s.io, next);
    }
    BOOST_TEST(s.unlock(held) == error_code{});
    BOOST_TEST(s.admin.get("/") == data);
}

BOOST_AUTO_TEST_CASE(G1_a_foreign_contender_in_the_middle)
{
    long_queue q;
    q.queue_up(25);
    const auto peer =
        q.admin.create(q.directory + foreign, "", admin_session::mode::ephemeral_sequential);
    q.add(15);
    q.hand_over(25); // those before it
    BOOST_TEST(q.unlock(q.held) == error_code{});
    q.settle();
    BOOST_TEST(q.server_has_first(peer));
    for (const auto& w : q.waiting) {
        BOOST_TEST(!w.done());
    }
    q.admin.remove(peer);
    q.accept();
    q.finish();
}

// The next but one sees it go, and no mark of it.
BOOST_AUTO_TEST_CASE(G1_a_foreign_contender_gives_up)
{
    for (const int behind : {0, 1, 2}) {
        long_queue q;
        q.queue_up(25);
        const auto peer =
            q.admin.create(q.directory + foreign, "", admin_session::mode::ephemeral_sequential);
        q.add(15);
        q.hand_over(25 - behind);
        q.admin.remove(peer);
        q.settle();
        q.finish();
    }
}

// Somebody writes a mark that counts those as gone who are there. Two foreign contenders in the middle of the queue give
// up; with such a mark the one behind them would take itself for the first.
BOOST_AUTO_TEST_CASE(G1_a_mark_that_cannot_be_true_is_refused_and_logged)
{
    long_queue q;
    q.queue_up(20);
    std::vector<std::string> peers;
    for (int i = 0; i != 2; ++i) {
        peers.push_back(
            q.admin.create(q.directory + foreign, "", admin_session::mode::ephemeral_sequential));
    }
    std::vector<std::string> warnings;
    auto& other =
        q.connect({.session_timeout = 40s, .log = [&](log_level level, std::string_view text) {
                       if (level == log_level::warning) {
                           warnings.emplace_back(text);
                       }
                   }});
    const auto settled = [&] { return other.stats().in_flight == 0; };
    const auto victim = q.start_waiter(other);
    BOOST_TEST(q.until(settled));
    q.admin.set(q.directory, mark + "\nnobody is left up to /lock-2000000000");
    for (const auto& peer : peers) {
        const auto before = other.stats().watch_events;
        q.admin.remove(peer);
        BOOST_TEST(q.until([&] { return other.stats().watch_events > before && settled(); }));
        BOOST_TEST(!victim.done());
    }
    BOOST_TEST(warnings.size() == 1U);
    for (const auto& each : warnings) {
        BOOST_TEST(each.find(q.directory + ':') != std::string::npos);
        BOOST_TEST(each.find("2000000000") != std::string::npos);
    }
    while (!q.waiting.empty()) {
        q.hand_over();
        BOOST_TEST(!victim.done());
    }
    BOOST_TEST(q.unlock(q.held) == error_code{});
    q.held = value_of(q.io, victim);
    q.finish();
}

BOOST_AUTO_TEST_CASE(G3_waiters_leave)
{
    long_queue q;
    q.queue_up(20);
    auto& other = q.connect(quiet);
    std::vector<outcome<unique_lock>> leaving;
    for (int i = 0; i != 3; ++i) {
        leaving.push_back(q.start_lock(other));
    }
    BOOST_REQUIRE(q.until([&] { return q.queue().size() == 24; }));
    q.add(15);
    q.hand_over(19);
    outcome<> closed;
    other.async_close(closed.handler());
    BOOST_TEST(code_of(q.io, closed) == error_code{});
    for (const auto& l : leaving) {
        BOOST_TEST(code_of(q.io, l) != error_code{});
    }
    q.finish();
}

BOOST_AUTO_TEST_CASE(G4_a_holder_is_killed)
{
    long_queue q;
    tcp_proxy victims{q.server.connect_string()};
    q.queue_up(20);
    auto& other = q.connect_through(victims, quiet);
    const auto victim = q.start_waiter(other);
    q.add(15);
    q.hand_over(20);
    BOOST_TEST(q.unlock(q.held) == error_code{});
    auto lost = value_of(q.io, victim);
    q.settle();
    victims.refuse(true);
    BOOST_REQUIRE(!kill_session(q.server.connect_string(), victims.sessions().front()));
    q.accept();
    victims.refuse(false);
    BOOST_TEST(q.until([&] { return static_cast<bool>(lost.loss_reason()); }));
    lost = {};
    q.finish();
}

BOOST_AUTO_TEST_CASE(G3_G4_a_mark_or_the_answer_to_it_is_lost)
{
    for (const bool request : {true, false}) {
        long_queue q;
        q.queue_up(waiters);
        q.hand_over(20);
        const auto rule = request ? q.proxy.on_request(opcode::multi, reaction::drop_and_cut,
                                                       {.path_prefix = q.directory})
                                  : q.proxy.on_reply(opcode::multi, reaction::drop_and_cut,
                                                     {.path_prefix = q.directory});
        q.hand_over();
        BOOST_TEST(rule.fired() == 1U);
        BOOST_TEST(q.admin.get(q.directory) == low_water_mark + "20");
        q.finish();
    }
}

// The answer to one who asks for the mark.
BOOST_AUTO_TEST_CASE(G4_a_connection_breaks_while_a_mark_is_read)
{
    long_queue q;
    q.queue_up(waiters);
    q.hand_over(20);
    const auto directory = q.directory;
    const auto rule = q.proxy.on_reply(
        opcode::get_data, reaction::drop_and_cut,
        {.predicate = [directory](opcode, std::string_view path) { return path == directory; }});
    q.hand_over();
    BOOST_TEST(rule.wait(10s));
    q.finish();
}

// One mark is all there is in a directory: each queue takes only its own.
BOOST_AUTO_TEST_CASE(G1_two_locks_in_one_directory)
{
    long_queue q;
    const std::vector<lock_options> options{{.layout = named_layout("a")},
                                            {.layout = named_layout("b")}};
    client* const clients[] = {&q.c, &q.connect(quiet)};
    std::vector<unique_lock> held;
    std::vector<std::vector<outcome<unique_lock>>> waiting(2);
    for (std::size_t lock : {0U, 1U}) {
        held.push_back(q.hold(*clients[lock], options[lock]));
    }
    for (int i = 0; i != waiters; ++i) {
        for (std::size_t lock : {0U, 1U}) {
            waiting[lock].push_back(q.start_lock(*clients[lock], options[lock]));
        }
    }
    BOOST_REQUIRE(q.until([&] { return q.queue().size() == 2 * waiters + 2; }));
    for (std::size_t i = 0; i != waiters; ++i) {
        for (std::size_t lock : {0U, 1U}) {
            BOOST_REQUIRE(q.until([&] { return clients[lock]->stats().in_flight == 0; }));
            BOOST_REQUIRE(!waiting[lock][i].done());
            BOOST_REQUIRE(q.unlock(held[lock]) == error_code{});
            held[lock] = value_of(q.io, waiting[lock][i]);
        }
    }
    BOOST_TEST(q.admin.get(q.directory).starts_with(mark + "\nnobody is left up to /"));
    for (auto& h : held) {
        BOOST_TEST(q.unlock(h) == error_code{});
    }
    q.check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()
