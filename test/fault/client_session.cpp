// Sessions: they outlive connections, they end, and the client says so.
#include <colock/client.hpp>
#include <support/client_scene.hpp>

#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

namespace colock::test::client_session_test {

using namespace std::chrono_literals;

namespace {

client_options with_session_of(std::chrono::milliseconds timeout)
{
    client_options options;
    options.session_timeout = timeout;
    return options;
}

} // namespace

BOOST_AUTO_TEST_SUITE(client_session, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(a_session_survives_a_disconnection_and_its_state_is_told)
{
    client_scene s;
    std::vector<connection_state> seen;
    std::function<void(connection_state)> follow = [&](connection_state from) {
        s.zk.async_wait_state_change(from, [&](colock::error_code ec, connection_state to) {
            if (!ec) {
                seen.push_back(to);
                follow(to);
            }
        });
    };
    follow(s.zk.state());
    s.connect();
    BOOST_TEST(!s.create(s.root + "/e", create_mode::ephemeral).failed());
    const auto session = s.zk.session_id();
    for (const auto how : {cut_kind::reset, cut_kind::finish}) {
        s.disconnect(how);
        s.reconnect();
    }
    BOOST_TEST(s.zk.session_id() == session);
    BOOST_TEST(!s.get(s.root + "/e").failed());
    s.close();
    using enum connection_state;
    const std::vector expected{connecting, connected, suspended, connected,
                               suspended,  connected, closed};
    BOOST_TEST(seen == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_session_that_was_ended_is_followed_by_a_new_one)
{
    client_scene s;
    s.connect();
    BOOST_TEST(!s.create(s.root + "/e", create_mode::ephemeral).failed());
    const auto session = s.zk.session_id();
    const outcome<connection_state> change;
    s.zk.async_wait_state_change(connection_state::connected, change.handler());
    s.end_session();
    BOOST_TEST(becomes_true(s.io, [&] { return s.zk.stats().sessions == 2; }));
    BOOST_TEST(s.wait_for(connection_state::connected));
    BOOST_TEST(change.ok());
    BOOST_TEST(change.value() == connection_state::suspended);
    BOOST_TEST(s.zk.session_id() != session);
    BOOST_TEST(s.zk.stats().expirations == 1u);
    BOOST_TEST(s.get(s.root + "/e") == zookeeper_errc::no_node);
    s.close();
    BOOST_TEST(
        becomes_true(s.io, [&] { return s.server.sessions().size() == 1; })); // the operator's
}

BOOST_AUTO_TEST_CASE(what_waits_while_a_session_expires_is_sent_in_the_next_one)
{
    client_scene s{with_session_of(1s)};
    s.connect();
    const auto session = s.zk.session_id();
    s.disconnect();
    const outcome<get_result> read;
    const outcome<create_result> write;
    s.zk.async_get(s.root, read.handler());
    s.zk.async_create(s.root + "/e", "", create_mode::ephemeral, write.handler());
    BOOST_TEST(becomes_true(s.io, [&] { return !s.server.sessions().contains(session); }));
    BOOST_TEST(s.zk.session_id() == session); // nobody has told the client
    s.proxy.refuse(false);
    BOOST_TEST(!code_of(s.io, read).failed());
    BOOST_TEST(!code_of(s.io, write).failed());
    BOOST_TEST(s.zk.session_id() != session);
    BOOST_TEST(write.value().stat.ephemeral_owner == s.zk.session_id());
    s.close();
}

// One server wants an identity (-124), and serves the client once its operator has mended it.
BOOST_AUTO_TEST_CASE(a_demand_for_an_identity_says_nothing_of_later_attempts)
{
    client_scene s;
    s.connect();
    s.proxy.on_reply(opcode::get_data, reaction::replace, {.replacement = -124});
    BOOST_TEST(s.get("/") == zookeeper_errc::session_closed_require_sasl_auth);
    BOOST_TEST(s.wait_for(connection_state::idle));
    s.proxy.refuse(true);
    const auto before = s.zk.stats().connect_attempts;
    const outcome<> connected;
    s.zk.async_connect(connected.handler());
    BOOST_TEST(becomes_true(s.io, [&] { return s.zk.stats().connect_attempts >= before + 2; }));
    BOOST_TEST(!connected.done());
    s.proxy.refuse(false);
    BOOST_TEST(!code_of(s.io, connected).failed());
    s.close();
}

BOOST_AUTO_TEST_CASE(a_loop_that_stalls_keeps_its_connection_when_a_reply_lies_in_the_socket)
{
    // ZooKeeper's client looks at the clock before it looks into the socket. The stalls are made on purpose, by a
    // handler that does not return for more than 2/3 of the time-out, and less than all of it: the rest is room for
    // a slow machine.
    constexpr auto timeout = 6'000ms, stall = 4'100ms;
    client_scene s{with_session_of(timeout)};
    s.connect();
    BOOST_TEST(s.zk.session_timeout().count() == timeout.count());
    const auto connection = s.zk.connection_id();
    for (const bool more_to_send : {false, true}) {
        const outcome<get_result> before, behind;
        s.zk.async_get("/", before.handler());
        boost::asio::post(s.io, [&] {
            std::this_thread::sleep_for(stall);
            if (more_to_send) {
                s.zk.async_get("/", behind.handler());
            }
        });
        BOOST_TEST(!code_of(s.io, before).failed());
        if (more_to_send) {
            BOOST_TEST(!code_of(s.io, behind).failed());
        }
        s.sync();
        BOOST_TEST(s.zk.connection_id() == connection);
    }
    // Without anything of the user's under way it is the answer to a read of the heartbeat.
    auto pong = s.proxy.on_reply(opcode::exists, reaction::hold);
    BOOST_TEST(becomes_true(s.io, [&] { return pong.fired() == 1; }));
    pong.release();
    std::this_thread::sleep_for(stall);
    s.sync();
    BOOST_TEST(s.zk.connection_id() == connection);
    BOOST_TEST(s.zk.stats().connections == 1u);
    s.close();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::client_session_test
