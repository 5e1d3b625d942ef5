// The simulated connection does what lib/zk and the C client do: against a server that the test plays.
#include "simulated.hpp"
#include "world/process.hpp"
#include "zk/connection.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace world {

using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace zk = colock::zk;
using colock::zookeeper_errc;

namespace {

const std::string address = "10.0.0.1:2181";

// Everything that happens to one connection, in words.
struct scene : zk::connection::observer, zk::watch_receiver {
    struct request_sent final : zk::receiver {
        explicit request_sent(scene& s, std::string n) : in{s}, name{std::move(n)} {}
        void answered(zk::reply&& r) noexcept override
        {
            last = r;
            in.note(name + '=' + (r.error ? std::to_string(r.error.value()) : r.text));
            --in.expected;
            if (in.on_answer) {
                in.on_answer();
            }
        }
        scene& in;
        std::string name;
        zk::reply last;
    };

    scene()
    {
        net.delay_all(1ms, 1ms);
        net.listen(server, address, [this](std::shared_ptr<stream> s) {
            accepted = std::move(s);
            accepted->handle({.received = [this](message&& m) { hear(std::move(m)); },
                              .ended = [this] { hear("end"); }});
        });
    }
    ~scene()
    {
        if (program.is_alive()) {
            program.enter([&] {
                if (connection) {
                    connection->close(true);
                }
                if (left) {
                    left->close();
                }
            });
        }
    }

    // ---- the client's side
    void securing() override { note("securing"); }
    void offered() override { note("offered"); }
    void established() override { note("established"); }
    void broken(zk::handle::status why) override
    {
        const char* const names[] = {"connecting", "connected", "broken", "expired", "auth_failed"};
        note(std::string{"broken:"} + names[static_cast<int>(why)]);
        fault = connection->fault().text;
        connection->close();
    }
    [[nodiscard]] bool expects_answers() const noexcept override { return expected != 0; }
    void left_behind(const std::string& at, std::shared_ptr<zk::old_socket> s) noexcept override
    {
        BOOST_TEST(at == address);
        note("left");
        left = std::move(s);
    }
    void watch_fired(colock::watch_event&& e) noexcept override { note("event:" + e.path); }

    void note(const std::string& what) { happened += what + ' '; }

    void open(zk::session_identity session = {}, const std::string& chroot = "",
              std::vector<colock::credential> credentials = {})
    {
        program.enter([&] {
            strand.emplace(
                zk::strand_base{asio::any_io_executor{program.context().get_executor()}});
            connection = zk::make_connection(*strand, owner, *this, wakeups);
            BOOST_TEST(connection->open({address}, chroot, 3000ms, session, credentials, *this));
        });
    }
    // Connected, with the session 7, at the instant 3 ms of the scene or a little later.
    void establish(const std::string& chroot = "")
    {
        open({}, chroot);
        pass(5ms);
        accepted->send(connect_reply{{7, {}}, 3000ms});
        pass(5ms);
        BOOST_REQUIRE(take(happened) == "offered established ");
        take(heard);
    }
    request_sent& send(zk::call c, std::string name)
    {
        sent.push_back(std::make_unique<request_sent>(*this, std::move(name)));
        program.enter([&] {
            ++expected;
            BOOST_TEST(!connection->send(c, *sent.back()));
        });
        return *sent.back();
    }
    void flush()
    {
        program.enter([&] { connection->flush(); });
    }

    // ---- the server's side
    void hear(const std::string& what) { heard += what + ' '; }
    void hear(message&& m)
    {
        if (const auto* r = std::get_if<request>(&m)) {
            hear(r->call.path + '#' + std::to_string(r->number));
            for (const auto& op : r->call.ops) {
                hear('+' + op.path);
            }
        } else if (const auto* c = std::get_if<connect_request>(&m)) {
            hear("connect:" + std::to_string(c->session.id) + ':' +
                 std::to_string(c->timeout.count()));
        } else if (const auto* a = std::get_if<auth_request>(&m)) {
            hear("auth:" + a->credential.scheme);
        } else if (std::holds_alternative<ping_request>(m)) {
            hear("ping");
            if (answers_pings) {
                accepted->send(ping_reply{});
            }
        } else if (std::holds_alternative<close_request>(m)) {
            hear("close");
        }
    }
    void answer(std::int32_t number, response body)
    {
        accepted->send(reply{.number = number, .body = std::move(body)});
    }

    void pass(std::chrono::nanoseconds t) { time.run_until(time.now() + t); }
    static std::string take(std::string& s) { return std::exchange(s, {}); }

    timeline time;
    network net{time, random{1}};
    machine server{time, "server"};
    machine client{time, "client"};
    process program{client, net, random{2}};

    std::optional<zk::strand_type> strand;
    std::shared_ptr<int> owner = std::make_shared<int>();
    std::shared_ptr<zk::connection> connection;
    std::shared_ptr<zk::old_socket> left;
    std::atomic<std::uint64_t> wakeups{0};
    std::vector<std::unique_ptr<request_sent>> sent;
    int expected = 0;
    std::function<void()> on_answer;
    std::string fault;
    std::string happened; // to the client
    std::shared_ptr<stream> accepted;
    std::string heard; // by the server
    bool answers_pings = true;
};

zk::call read(std::string path)
{
    return {.op = zk::opcode::get, .path = std::move(path)};
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(connection_of_the_world, scene)

BOOST_AUTO_TEST_CASE(a_session_is_opened_and_taken_over)
{
    open({}, "", {{"digest", "a:b"}});
    pass(5ms);
    BOOST_TEST(take(heard) == "connect:0:3000 ");
    accepted->send(connect_reply{{7, {'p'}}, 2000ms});
    pass(5ms);
    BOOST_TEST(take(heard) == "auth:digest ");
    BOOST_TEST(take(happened) == "offered established ");
    BOOST_TEST(connection->session().id == 7);
    BOOST_TEST(connection->session().password[0] == 'p');
    BOOST_TEST((connection->session_timeout() == 2000ms));
}

BOOST_AUTO_TEST_CASE(a_session_that_has_ended_is_told)
{
    open({7, {}});
    pass(5ms);
    BOOST_TEST(take(heard) == "connect:7:3000 ");
    accepted->send(connect_reply{{}, 0ms});
    pass(5ms);
    BOOST_TEST(take(happened) == "offered broken:expired ");
}

BOOST_AUTO_TEST_CASE(refused_credentials_end_the_connection)
{
    open({}, "", {{"digest", "a:b"}});
    pass(5ms);
    accepted->send(connect_reply{{7, {}}, 3000ms});
    accepted->send(auth_reply{zookeeper_errc::auth_failed});
    pass(5ms);
    BOOST_TEST(take(happened) == "offered established broken:auth_failed left ");
}

BOOST_AUTO_TEST_CASE(credentials_that_are_added_leave_between_requests)
{
    establish();
    send(read("/a"), "a");
    program.enter([&] { BOOST_TEST(connection->authenticate({"digest", "a:b"})); });
    send(read("/b"), "b");
    flush();
    pass(1ms);
    BOOST_TEST(take(heard) == "/a#1 auth:digest /b#2 ");
    accepted->send(auth_reply{zookeeper_errc::auth_failed});
    pass(5ms);
    BOOST_TEST(take(happened) == "a=-115 b=-115 broken:auth_failed left ");
    program.enter([&] { BOOST_TEST(!connection->authenticate({"digest", "a:b"})); });
}

BOOST_AUTO_TEST_CASE(requests_leave_together_and_are_answered_in_order)
{
    establish();
    send(read("/a"), "a");
    send(read("/b"), "b");
    pass(10ms);
    BOOST_TEST(heard == "");
    flush();
    pass(1ms);
    BOOST_TEST(take(heard) == "/a#1 /b#2 ");
    answer(1, {.text = "one"});
    accepted->send(event{{colock::watch_event_type::changed, "/a"}});
    answer(2, {.error = zookeeper_errc::no_node, .text = "dropped"});
    pass(5ms);
    BOOST_TEST(take(happened) == "a=one event:/a b=-101 ");
    BOOST_TEST(sent.back()->last.text == "");
}

BOOST_AUTO_TEST_CASE(the_chroot_is_put_before_paths_and_taken_off)
{
    establish("/root");
    const auto& created = send({.op = zk::opcode::create, .path = "/a"}, "create");
    const auto& steps =
        send({.op = zk::opcode::multi, .ops = {colock::check_op("/"), colock::create_op("/b", "")}},
             "multi");
    send(read("/"), "root");
    flush();
    pass(1ms);
    BOOST_TEST(take(heard) == "/root/a#1 #2 +/root +/root/b /root#3 ");
    answer(1, {.text = "/root/a0000000001"});
    answer(2, {.results = {{}, {.path = "/root/b"}}});
    accepted->send(event{{colock::watch_event_type::deleted, "/root"}});
    accepted->send(event{{colock::watch_event_type::deleted, "/root/a"}});
    pass(5ms);
    BOOST_TEST(take(happened) == "create=/a0000000001 multi= event:/ event:/a ");
    BOOST_TEST(created.last.text == "/a0000000001");
    BOOST_REQUIRE(steps.last.results.size() == 2U);
    BOOST_TEST(steps.last.results[1].path == "/b");
}

BOOST_AUTO_TEST_CASE(an_idle_connection_pings_every_third_of_the_time_out)
{
    establish();
    pass(980ms);
    BOOST_TEST(heard == "");
    pass(20ms);
    BOOST_TEST(take(heard) == "ping ");
    pass(10s);
    BOOST_TEST(take(heard) == "ping ping ping ping ping ping ping ping ping ping ");
    BOOST_TEST(happened == "");
}

BOOST_AUTO_TEST_CASE(a_silent_server_is_given_up_after_two_thirds_of_the_time_out)
{
    establish();
    answers_pings = false;
    pass(1900ms);
    send(read("/a"), "a");
    flush();
    BOOST_TEST(happened == "");
    pass(150ms);
    BOOST_TEST(take(happened) == "a=-7 broken:broken left ");
    BOOST_TEST(fault == "the server is silent");
}

BOOST_AUTO_TEST_CASE(a_server_that_answers_no_request_is_given_up)
{
    establish();
    send(read("/a"), "a");
    flush();
    for (int i = 0; i != 19; ++i) {
        pass(100ms);
        accepted->send(event{{colock::watch_event_type::changed, "/x"}});
    }
    pass(50ms);
    BOOST_TEST(take(heard) == "/a#1 "); // no ping while an answer is awaited
    BOOST_TEST(happened.find("broken") == std::string::npos);
    take(happened);
    pass(100ms);
    BOOST_TEST(take(happened) == "a=-4 broken:broken left ");
    BOOST_TEST(fault == "the server has answered no request for 2000 ms");
}

BOOST_AUTO_TEST_CASE(what_is_outstanding_is_answered_when_the_server_closes)
{
    establish();
    send(read("/a"), "a");
    send(read("/b"), "b");
    flush();
    pass(1ms);
    answer(1, {.text = "one"});
    accepted.reset();
    pass(1ms);
    BOOST_TEST(take(happened) == "a=one b=-4 broken:broken left ");
    BOOST_TEST(fault == "");
}

BOOST_AUTO_TEST_CASE(an_answer_to_another_request_breaks_the_connection)
{
    establish();
    send(read("/a"), "a");
    flush();
    pass(1ms);
    answer(2, {.text = "two"});
    pass(1ms);
    BOOST_TEST(take(happened) == "a=-2 broken:broken left ");
}

BOOST_AUTO_TEST_CASE(a_refused_connect_breaks)
{
    server.kill();
    open();
    pass(5ms);
    BOOST_TEST(take(happened) == "broken:broken ");
}

BOOST_AUTO_TEST_CASE(a_dropped_connection_leaves_its_socket_until_the_server_closes_it)
{
    establish();
    send(read("/a"), "a");
    flush();
    program.enter([&] { connection->close(); });
    BOOST_TEST(take(happened) == "left a=-4 ");
    program.enter([&] { left->finish(); });
    pass(5ms);
    BOOST_TEST(take(heard) == "/a#1 end ");
    answer(1, {});
    pass(5ms);
    BOOST_TEST(!left->is_over());
    BOOST_TEST(!program.is_idle());
    accepted.reset();
    pass(5ms);
    BOOST_TEST(left->is_over());
    BOOST_TEST(program.is_idle());
    BOOST_TEST(happened == "");
    BOOST_TEST(owner.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(last_words_end_the_session)
{
    establish();
    program.enter([&] { connection->close(true); });
    pass(5ms);
    BOOST_TEST(take(heard) == "close end ");
    BOOST_TEST(!left);
    BOOST_TEST(happened == "");
}

BOOST_AUTO_TEST_CASE(an_end_of_the_session_is_confirmed_or_not)
{
    for (const bool confirms : {true, false}) {
        scene s;
        s.establish();
        s.program.enter([&] {
            s.connection->end_session(
                [&s](bool confirmed) { s.note(confirmed ? "confirmed" : "unconfirmed"); });
        });
        s.pass(5ms);
        BOOST_TEST(s.take(s.heard) == "close ");
        BOOST_TEST(s.happened == "");
        if (confirms) {
            s.accepted->send(close_reply{});
        }
        s.pass(5ms);
        s.accepted.reset();
        s.pass(5ms);
        BOOST_TEST(s.take(s.happened) == (confirms ? "confirmed " : "unconfirmed "));
        BOOST_TEST(s.program.is_idle());
    }
}

BOOST_AUTO_TEST_CASE(others_have_their_turn_between_packets)
{
    establish();
    constexpr int many = 200;
    for (int i = 0; i != many; ++i) {
        send(read("/a"), "r");
    }
    flush();
    pass(1ms);
    int answered = 0;
    std::vector<int> turns;
    std::function<void()> turn = [&] {
        turns.push_back(answered);
        if (answered != many) {
            asio::post(program.context(), turn);
        }
    };
    on_answer = [&] {
        if (++answered == 1) {
            asio::post(program.context(), turn);
        }
    };
    for (int i = 0; i != many; ++i) {
        answer(i + 1, {});
    }
    pass(1ms);
    BOOST_TEST(turns == (std::vector<int>{64, 128, 192, many}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_answer_that_lies_there_after_a_stop_is_read_before_time_runs_out)
{
    establish();
    send(read("/a"), "a");
    flush();
    pass(1ms);
    client.stop();
    answer(1, {.text = "one"});
    pass(60s);
    BOOST_TEST(happened == "");
    client.go_on();
    BOOST_TEST(take(happened) == "a=one ");
    pass(10ms);
    BOOST_TEST(take(heard) == "/a#1 ping ");
}

BOOST_AUTO_TEST_CASE(a_killed_program_says_nothing_more)
{
    establish();
    send(read("/a"), "a"); // not flushed
    struct last_words {
        explicit last_words(std::shared_ptr<zk::connection>&& c) : connection{std::move(c)} {}
        ~last_words() { connection->close(true); }
        std::shared_ptr<zk::connection> connection;
    };
    // What waits in a context is destroyed with it.
    asio::co_spawn(
        program.context(),
        [](auto words) -> asio::awaitable<void> {
            asio::steady_timer later{co_await asio::this_coro::executor, 1h};
            co_await later.async_wait(asio::use_awaitable);
            words.reset();
        }(std::make_shared<last_words>(std::move(connection))),
        asio::detached);
    program.enter([] {});
    strand.reset(); // it belongs to the context
    program.kill();
    pass(5ms);
    BOOST_TEST(take(heard) == "end ");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace world
