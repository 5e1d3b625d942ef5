// Requests: which are sent, in which order, and what becomes of them when the connection goes.
#include "session/request_queue.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace colock;
using namespace colock::detail;

namespace {

using strings = std::vector<std::string>;

// Takes everything, and answers when it is told.
struct fake_connection final : zk::connection {
    bool open(const zk::server&, const std::string&, std::chrono::milliseconds,
              const zk::session_identity&, const std::vector<credential>&,
              zk::watch_receiver&) override
    {
        return true;
    }
    error_code send(const zk::call& c, zk::receiver& r) override
    {
        sent.push_back(c.path);
        unanswered.push_back(static_cast<request*>(&r));
        return {};
    }
    bool authenticate(const credential&) override { return true; }
    void flush() override { ++flushes; }
    void end_session(std::function<void(bool)>) override {}
    void close(bool) noexcept override {}
    fault_report fault() const override { return {}; }
    zk::session_identity session() const noexcept override { return {}; }
    std::chrono::milliseconds session_timeout() const noexcept override { return 1s; }

    strings sent;
    std::vector<request*> unanswered;
    int flushes = 0;
};

struct scene {
    scene()
    {
        basics.strand.serve(alive);
        basics.session.set(connection_state::connecting);
    }
    ~scene()
    {
        while (connection && !connection->unanswered.empty()) {
            answer({});
        }
        queue.discard();
    }

    // `writes`: no barrier is needed.
    void connect(bool writes = true)
    {
        connection = std::make_shared<fake_connection>();
        queue.open(connection);
        basics.session.connected();
        basics.session.set(connection_state::connected);
        queue.connected();
        if (writes) {
            queue.begin_to_write();
        }
    }
    void lose()
    {
        basics.session.disconnected();
        queue.detach();
        while (!connection->unanswered.empty()) {
            answer(zookeeper_errc::connection_loss);
        }
        queue.disconnected();
    }

    request& submit(const std::string& path, on_loss policy, zk::opcode op = zk::opcode::get)
    {
        auto r = make_request({.op = op, .path = path}, policy, [this, path](zk::reply&& reply) {
            answered.push_back(path + ": " + (reply.error ? reply.error.message() : "ok"));
        });
        auto& made = *r;
        queue.submit(std::move(r));
        return made;
    }
    void write(const std::string& path) { submit(path, on_loss::report, zk::opcode::set); }

    // The oldest one that was sent.
    void answer(const error_code& ec)
    {
        auto& unanswered = connection->unanswered;
        auto r = queue.take(*unanswered.front());
        unanswered.erase(unanswered.begin());
        zk::reply reply{.error = ec};
        queue.settle(*r, reply);
        queue.finish(std::move(r), std::move(reply));
    }

    boost::asio::io_context io;
    client_basics basics{io.get_executor(), client_options{.hosts = "127.0.0.1:1"}};
    std::shared_ptr<int> alive = std::make_shared<int>();
    zk::watch_registry watches{[](const std::string&, zk::watch_kind) {}};
    request_queue queue{nullptr, basics, watches};
    std::shared_ptr<fake_connection> connection;
    strings answered;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(requests_of_a_client, scene)

BOOST_AUTO_TEST_CASE(what_follows_a_write_waits_for_the_barrier_with_it)
{
    connect(false);
    submit("/a", on_loss::repeat);
    write("/b");
    submit("/c", on_loss::repeat);
    BOOST_TEST(connection->sent == strings{"/a"}, boost::test_tools::per_element());
    BOOST_TEST(basics.count.waiting == 2U);
    queue.begin_to_write();
    BOOST_TEST(connection->sent == (strings{"/a", "/b", "/c"}), boost::test_tools::per_element());
    BOOST_TEST(basics.count.waiting == 0U);
    BOOST_TEST(basics.count.in_flight == 3U);
}

BOOST_AUTO_TEST_CASE(a_batch_has_one_look_at_the_socket)
{
    connect();
    {
        const request_queue::batch together{queue};
        submit("/a", on_loss::repeat);
        submit("/b", on_loss::repeat);
        BOOST_TEST(connection->flushes == 0);
    }
    BOOST_TEST(connection->flushes == 1);
}

BOOST_AUTO_TEST_CASE(
    a_lost_read_goes_first_on_the_next_connection_and_a_lost_write_does_not_go_again)
{
    connect();
    submit("/a", on_loss::repeat);
    write("/b");
    lose();
    BOOST_TEST(answered == strings{"/b: " + error_code{zookeeper_errc::connection_loss}.message()},
               boost::test_tools::per_element());
    submit("/c", on_loss::repeat);
    connect();
    BOOST_TEST(connection->sent == (strings{"/a", "/c"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_was_not_sent_keeps_its_order_for_the_next_connection)
{
    connect(false);
    write("/a");
    write("/b");
    submit("/c", on_loss::fail);
    lose();
    BOOST_TEST(answered.size() == 1U); // the one that fails
    write("/d");
    connect();
    BOOST_TEST(connection->sent == (strings{"/a", "/b", "/d"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_a_busy_server_refuses_is_not_repeated_on_a_connection_that_is_left)
{
    connect();
    submit("/a", on_loss::repeat);
    queue.hold();
    answer(zookeeper_errc::throttled_op);
    BOOST_TEST(connection->unanswered.empty());
    lose();
    connect();
    BOOST_TEST(connection->sent == strings{"/a"}, boost::test_tools::per_element());
    BOOST_TEST(answered.empty());
}

BOOST_AUTO_TEST_CASE(one_that_is_abandoned_is_answered_once)
{
    connect();
    auto& r = submit("/a", on_loss::repeat);
    queue.abandon(r, errc::client_closed);
    BOOST_TEST(answered.size() == 1U);
    answer({});
    BOOST_TEST(answered.size() == 1U);
}

BOOST_AUTO_TEST_CASE(
    without_a_connection_a_request_waits_or_fails_and_without_a_session_it_is_refused)
{
    submit("/a", on_loss::repeat);
    submit("/b", on_loss::fail);
    BOOST_TEST(answered.size() == 1U);
    queue.fail_waiting(errc::client_closed);
    BOOST_TEST(answered.size() == 2U);
    BOOST_TEST(basics.count.waiting == 0U);
    queue.close();
    submit("/c", on_loss::repeat);
    BOOST_TEST(answered.size() == 3U);
}

BOOST_AUTO_TEST_SUITE_END()
