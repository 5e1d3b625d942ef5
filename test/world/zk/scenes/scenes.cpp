// What a connection of the library does, as far as time has no part in it. Built twice: with the C client, and in the
// simulated world, where each scene has to go the same way.
#include "side.hpp"
#include "zk/connection.hpp"

#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace world {

using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace zk = colock::zk;
using colock::zookeeper_errc;

namespace {

// Everything that happens to one connection, in words.
struct scene : zk::connection::observer, zk::watch_receiver {
    struct request_sent final : zk::receiver {
        request_sent(scene& s, std::string n) : in{s}, name{std::move(n)} {}
        void answered(zk::reply&& r) noexcept override
        {
            last = r;
            --in.expected;
            in.note(name + '=' + (r.error ? std::to_string(r.error.value()) : r.text));
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
        at->listen([this](std::variant<std::monostate, message> m) {
            if (const auto* something = std::get_if<message>(&m)) {
                hear(*something);
            } else {
                heard += "end ";
            }
        });
    }
    ~scene()
    {
        at->run([this] {
            if (connection) {
                connection->close(true);
            }
            if (left) {
                left->close();
            }
            connection.reset();
            left.reset();
        });
        // What still waits on the strand has let go of the connection, too.
        BOOST_TEST(at->until([this] { return owner.use_count() == 1; }));
    }

    // ---- the client
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
    void left_behind(const std::string& address,
                     std::shared_ptr<zk::old_socket> s) noexcept override
    {
        BOOST_TEST(address == at->address());
        note("left");
        left = std::move(s);
    }
    void watch_fired(colock::watch_event&& e) noexcept override
    {
        note("event" + std::to_string(static_cast<int>(e.type)) + ':' + e.path);
    }
    void note(const std::string& what) { happened += what + ' '; }

    void open(zk::session_identity session = {}, const std::string& chroot = "",
              const std::vector<colock::credential>& credentials = {})
    {
        at->run([&] {
            strand.emplace(zk::strand_base{at->executor()});
            connection = zk::make_connection(*strand, owner, *this, wakeups);
            BOOST_TEST(
                connection->open({at->address()}, chroot, 9000ms, session, credentials, *this));
        });
    }
    void establish(const std::string& chroot = "")
    {
        open({}, chroot);
        expect_heard("connect:0:9000 ");
        at->send({connect_reply{{7, {}}, 9000ms}});
        expect("offered established ");
    }
    request_sent& send(const zk::call& c, std::string name)
    {
        sent.push_back(std::make_unique<request_sent>(*this, std::move(name)));
        at->run([&] {
            ++expected;
            BOOST_TEST(!connection->send(c, *sent.back()));
        });
        return *sent.back();
    }
    void flush()
    {
        at->run([&] { connection->flush(); });
    }

    // ---- the server
    void hear(const message& m)
    {
        if (const auto* r = std::get_if<request>(&m)) {
            heard += r->call.path + '#' + std::to_string(r->number) + ' ';
            for (const auto& op : r->call.ops) {
                heard += '+' + op.path + ' ';
            }
        } else if (const auto* c = std::get_if<connect_request>(&m)) {
            heard += "connect:" + std::to_string(c->session.id) + ':' +
                     std::to_string(c->timeout.count()) + ' ';
        } else if (const auto* a = std::get_if<auth_request>(&m)) {
            heard += "auth:" + a->credential.scheme + ' ';
        } else if (std::holds_alternative<close_request>(m)) {
            heard += "close ";
        } else {
            heard += "ping ";
        }
    }

    // ---- what has to come, and nothing else before it
    void expect(const std::string& what)
    {
        static_cast<void>(at->until([&] { return happened.size() >= what.size(); }));
        BOOST_TEST(std::exchange(happened, {}) == what);
    }
    void expect_heard(const std::string& what)
    {
        static_cast<void>(at->until([&] { return heard.size() >= what.size(); }));
        BOOST_TEST(std::exchange(heard, {}) == what);
    }

    std::shared_ptr<int> owner = std::make_shared<int>();
    std::atomic<std::uint64_t> wakeups{0};
    std::vector<std::unique_ptr<request_sent>> sent;
    int expected = 0;
    std::function<void()> on_answer;
    std::string fault;
    std::string happened; // to the client
    std::string heard;    // by the server
    std::unique_ptr<side> at = make_side();
    std::optional<zk::strand_type> strand;
    std::shared_ptr<zk::old_socket> left;
    std::shared_ptr<zk::connection> connection;
};

zk::call get(std::string path)
{
    return {.op = zk::opcode::get, .path = std::move(path)};
}

// The C client knows no event without a watch.
zk::call watched(std::string path)
{
    return {.op = zk::opcode::get, .path = std::move(path), .watch = true};
}

reply answer(std::int32_t number, response body)
{
    return {.number = number, .body = std::move(body)};
}

message fired(colock::watch_event_type type, std::string path)
{
    return event{{type, std::move(path)}};
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(scenes_of_a_connection, scene)

BOOST_AUTO_TEST_CASE(a_session_is_opened_with_credentials)
{
    open({}, "", {{"digest", "a:b"}});
    expect_heard("connect:0:9000 ");
    at->send({connect_reply{{7, {'p'}}, 6000ms}});
    expect("offered established ");
    BOOST_TEST(connection->session().id == 7);
    BOOST_TEST(connection->session().password[0] == 'p');
    BOOST_TEST((connection->session_timeout() == 6000ms));
    expect_heard("auth:digest ");
    at->send({auth_reply{zookeeper_errc::auth_failed}});
    expect("broken:auth_failed left ");
}

BOOST_AUTO_TEST_CASE(refused_credentials_answer_what_is_outstanding)
{
    open({}, "", {{"digest", "a:b"}});
    expect_heard("connect:0:9000 ");
    at->send({connect_reply{{7, {}}, 6000ms}});
    expect("offered established ");
    send(get("/a"), "a");
    flush();
    expect_heard("auth:digest /a#1 ");
    at->send({auth_reply{zookeeper_errc::auth_failed}});
    expect("a=-115 broken:auth_failed left ");
}

BOOST_AUTO_TEST_CASE(a_session_is_taken_over_or_has_ended)
{
    open({7, {}});
    expect_heard("connect:7:9000 ");
    at->send({connect_reply{{}, 0ms}});
    expect("offered broken:expired ");
}

BOOST_AUTO_TEST_CASE(another_session_than_the_own_is_refused)
{
    open({7, {}});
    expect_heard("connect:7:9000 ");
    at->send({connect_reply{{8, {}}, 6000ms}});
    expect("offered broken:broken ");
    BOOST_TEST(fault == "the server sent the session under another number");
}

BOOST_AUTO_TEST_CASE(a_refused_connect_breaks)
{
    at->refuse();
    open();
    expect("broken:broken ");
}

BOOST_AUTO_TEST_CASE(a_server_that_closes_before_the_session_breaks)
{
    open();
    expect_heard("connect:0:9000 ");
    at->close();
    expect("offered broken:broken ");
}

BOOST_AUTO_TEST_CASE(answers_and_events_come_in_their_order)
{
    establish();
    const auto& first = send(watched("/a"), "a");
    send(watched("/c"), "c");
    const auto& second = send(get("/b"), "b");
    flush();
    expect_heard("/a#1 /c#2 /b#3 ");
    at->send({answer(1, {.text = "one"}), fired(colock::watch_event_type::changed, "/a"),
              answer(2, {.text = "two"}), fired(colock::watch_event_type::deleted, "/c"),
              answer(3, {.error = zookeeper_errc::no_node})});
    expect("a=one event3:/a c=two event2:/c b=-101 ");
    BOOST_TEST(!first.last.error);
    BOOST_TEST(second.last.text == "");
}

BOOST_AUTO_TEST_CASE(the_chroot_is_put_before_paths_and_taken_off)
{
    establish("/root");
    send({.op = zk::opcode::create,
          .path = "/a",
          .mode = colock::create_mode::persistent_sequential,
          .acl = colock::open_acl()},
         "create");
    const auto& steps = send({.op = zk::opcode::multi,
                              .acl = colock::open_acl(),
                              .ops = {colock::check_op("/"), colock::create_op("/b", "")}},
                             "multi");
    send(watched("/"), "root");
    send(watched("/a"), "a");
    flush();
    expect_heard("/root/a#1 #2 +/root +/root/b /root#3 /root/a#4 ");
    at->send({answer(1, {.text = "/root/a0000000001"}),
              answer(2, {.results = {{}, {.path = "/root/b"}}}), answer(3, {.text = "r"}),
              answer(4, {}), fired(colock::watch_event_type::deleted, "/root"),
              fired(colock::watch_event_type::deleted, "/root/a")});
    expect("create=/a0000000001 multi= root=r a= event2:/ event2:/a ");
    BOOST_REQUIRE(steps.last.results.size() == 2U);
    BOOST_TEST(steps.last.results[0].path == "");
    BOOST_TEST(steps.last.results[1].path == "/b");
}

BOOST_AUTO_TEST_CASE(what_is_outstanding_is_answered_when_the_server_closes)
{
    establish();
    send(get("/a"), "a");
    send(get("/b"), "b");
    send({.op = zk::opcode::multi, .ops = {colock::check_op("/")}}, "c");
    flush();
    expect_heard("/a#1 /b#2 #3 +/ ");
    at->send({answer(1, {.text = "one"})});
    expect("a=one ");
    at->close();
    expect("b=-4 c=-4 broken:broken left ");
    BOOST_TEST(fault == "");
}

BOOST_AUTO_TEST_CASE(an_answer_to_another_request_breaks_the_connection)
{
    establish();
    send(get("/a"), "a");
    flush();
    expect_heard("/a#1 ");
    at->send({answer(2, {.error = zookeeper_errc::no_node})});
    expect("a=-2 broken:broken left ");
    BOOST_TEST(fault ==
               "the server sent the reply to another request than the first outstanding one");
}

BOOST_AUTO_TEST_CASE(a_dropped_connection_leaves_its_socket_until_the_server_closes_it)
{
    establish();
    send(get("/a"), "a");
    flush();
    at->run([&] { connection->close(); });
    expect("left a=-4 ");
    at->run([&] { left->finish(); });
    expect_heard("/a#1 end ");
    at->send({answer(1, {})});
    BOOST_TEST(!left->is_over());
    at->close();
    BOOST_TEST(at->until([&] { return left->is_over(); }));
    BOOST_TEST(happened == "");
}

BOOST_AUTO_TEST_CASE(what_was_not_flushed_leaves_before_the_end)
{
    establish();
    send(get("/a"), "a");
    at->run([&] { connection->close(); });
    expect("left a=-4 ");
    at->run([&] { left->finish(); });
    expect_heard("/a#1 end ");
}

BOOST_AUTO_TEST_CASE(last_words_end_the_session)
{
    establish();
    send(get("/a"), "a");
    at->run([&] { connection->close(true); });
    expect_heard("/a#1 close end ");
    BOOST_TEST(!left);
    BOOST_TEST(happened == "a=-4 ");
}

BOOST_AUTO_TEST_CASE(an_end_of_the_session_is_confirmed_or_not)
{
    for (const bool confirms : {true, false}) {
        scene s;
        s.establish();
        s.at->run([&] {
            s.connection->end_session(
                [&s](bool confirmed) { s.note(confirmed ? "confirmed" : "unconfirmed"); });
        });
        s.expect_heard("close ");
        // An event may lie before the confirmation.
        s.at->send({fired(colock::watch_event_type::changed, "/a")});
        if (confirms) {
            s.at->send({close_reply{}});
        }
        s.at->close();
        s.expect(confirms ? "confirmed " : "unconfirmed ");
        BOOST_TEST(!s.left);
    }
}

BOOST_AUTO_TEST_CASE(the_connection_may_be_closed_by_an_answer)
{
    establish();
    send(get("/a"), "a");
    send(get("/b"), "b");
    flush();
    on_answer = [&] {
        on_answer = nullptr;
        connection->close();
    };
    expect_heard("/a#1 /b#2 ");
    at->send({answer(1, {.text = "one"}), answer(2, {.text = "two"})});
    expect("a=one left b=-4 ");
}

BOOST_AUTO_TEST_CASE(an_answer_may_send_the_next_request)
{
    establish();
    send(get("/a"), "a");
    flush();
    request_sent next{*this, "next"};
    on_answer = [&] {
        on_answer = nullptr;
        ++expected;
        BOOST_TEST(!connection->send(get("/next"), next));
        connection->flush();
    };
    expect_heard("/a#1 ");
    at->send({answer(1, {.text = "one"})});
    expect_heard("/next#2 ");
    at->send({answer(2, {.text = "two"})});
    expect("a=one next=two ");
}

BOOST_AUTO_TEST_CASE(others_have_their_turn_between_packets)
{
    establish();
    constexpr int many = 200;
    for (int i = 0; i != many; ++i) {
        send(get("/a"), "r");
    }
    flush();
    BOOST_TEST(at->until([&] { return heard.ends_with("#200 "); }));
    int answered = 0;
    std::vector<int> turns;
    std::function<void()> turn = [&] {
        turns.push_back(answered);
        if (answered != many) {
            asio::post(at->executor(), turn);
        }
    };
    on_answer = [&] {
        if (++answered == 1) {
            asio::post(at->executor(), turn);
        }
    };
    std::vector<message> all;
    for (int i = 1; i <= many; ++i) {
        all.push_back(answer(i, {}));
    }
    at->send(std::move(all));
    BOOST_TEST(at->until([&] { return answered == many && turns.back() == many; }));
    // Never more than 64 packets in one go.
    int before = 0;
    for (const auto now : turns) {
        BOOST_TEST(now - before <= 64);
        before = now;
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace world
