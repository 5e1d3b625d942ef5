// Long queues: in order (G2), alone (G1), to the end (G4), and nothing is left (G3).
#include <support/lock_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::long_queue_test {

namespace {

const std::string foreign =
    "/_c_5f6b3a52-8d1c-4f0e-9c0a-3a1d2b4c5e6f-lock-"; // as Curator writes it

// Of its own accord the client sends nothing within a case.
const client_options quiet{.session_timeout = 40s};

// Numbers as they stand in the queue: 0 holds the lock, 1 and so on wait.
constexpr int waiters = 40;

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

// A hand-over costs a removal, and at most one listing and two reads, however many wait.
BOOST_AUTO_TEST_CASE(G2_G7_a_hand_over_costs_no_more_in_a_long_queue)
{
    for (const int number : {waiters, 3 * waiters}) {
        long_queue q;
        q.queue_up(number);
        const auto lists = q.proxy.requests(any_get_children());
        const auto requests = q.proxy.requests();
        q.hand_over(number);
        BOOST_TEST(q.proxy.requests(any_get_children()) - lists <=
                   static_cast<std::size_t>(number));
        BOOST_TEST(q.proxy.requests() - requests <= static_cast<std::size_t>(4 * number));
        q.finish();
    }
}

// Nothing of colock's is there, whoever made it.
BOOST_AUTO_TEST_CASE(the_data_of_the_directory_stay_as_they_are)
{
    for (const std::string data : {"", "mine", "made by colock, to be deleted when it is empty"}) {
        long_queue q;
        q.admin.create(q.directory, data);
        q.queue_up(waiters);
        q.hand_over(waiters);
        admin_session::stat details;
        BOOST_TEST(q.admin.get(q.directory, &details) == data);
        BOOST_TEST(details.version == 0);
        q.finish();
    }
    long_queue q;
    q.queue_up(1);
    BOOST_TEST(q.admin.get(q.directory) == "");
    q.finish();
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

BOOST_AUTO_TEST_CASE(G3_G4_a_removal_or_the_answer_to_it_is_lost)
{
    for (const bool request : {true, false}) {
        long_queue q;
        q.queue_up(waiters);
        q.hand_over(20);
        const auto rule = request ? q.proxy.on_request(opcode::remove, reaction::drop_and_cut,
                                                       {.path_prefix = q.directory})
                                  : q.proxy.on_reply(opcode::remove, reaction::drop_and_cut,
                                                     {.path_prefix = q.directory});
        q.hand_over();
        BOOST_TEST(rule.fired() == 1U);
        q.finish();
    }
}

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
    for (auto& h : held) {
        BOOST_TEST(q.unlock(h) == error_code{});
    }
    q.check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::long_queue_test
