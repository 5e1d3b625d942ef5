// A connection that the client has given up, and whose server has not closed it: the session is not offered there.
#include <support/client_scene.hpp>

#include <optional>
#include <string>

namespace colock::test::client_old_sockets_test {

using namespace std::chrono_literals;

namespace {

constexpr auto session_time = 9s; // the last third of it is room for a slow machine

// One server with two addresses. The client is at the first one, which stalls; the second one refuses.
struct two_addresses {
    explicit two_addresses(bool both = true)
    {
        second.refuse(true);
        const auto hosts = first.connect_string() + (both ? ',' + second.connect_string() : "");
        zk.emplace(io, link_client({.hosts = hosts,
                                    .session_timeout = session_time,
                                    .backoff_min = 20ms,
                                    .backoff_max = 50ms,
                                    .tick = 500ms}));
        const outcome<> connected;
        zk->async_connect(connected.handler());
        value_of(io, connected);
        reached = first.accepted();
    }

    // Returns a time before the client gives up, and by a moment only.
    std::chrono::steady_clock::time_point give_up()
    {
        first.stall(true);
        auto before = std::chrono::steady_clock::now();
        BOOST_REQUIRE(becomes_true(io, [&] {
            if (zk->state() == connection_state::suspended) {
                return true;
            }
            before = std::chrono::steady_clock::now();
            return false;
        }));
        return before;
    }

    bool until(connection_state state)
    {
        return becomes_true(io, [&] { return zk->state() == state; });
    }

    void close()
    {
        const outcome<> o;
        zk->async_close(o.handler());
        code_of(io, o);
    }

    zookeeper_server& server = one_server::get();
    tcp_proxy first = link_proxy(server);
    tcp_proxy second = link_proxy(server);
    asio::io_context io;
    std::optional<client> zk;
    std::size_t reached = 0; // connections to the first address
};

} // namespace

BOOST_AUTO_TEST_SUITE(client_old_sockets, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(the_session_is_offered_there_again_when_the_server_has_closed_the_connection)
{
    two_addresses s;
    const auto session = s.zk->session_id();
    s.give_up();
    const auto attempts = s.zk->stats().connect_attempts;
    BOOST_TEST(becomes_true(s.io, [&] { return s.zk->stats().connect_attempts > attempts + 2; }));
    BOOST_TEST(s.first.accepted() == s.reached);
    s.first.stall(false);
    BOOST_TEST(s.until(connection_state::connected));
    BOOST_TEST(s.zk->session_id() == session);
    BOOST_TEST(s.first.accepted() == s.reached + 1);
    s.close();
}

// The server has read the write, so it is on its way, and may arrive behind what the client does elsewhere.
BOOST_AUTO_TEST_CASE(G3_the_session_is_not_offered_where_a_write_was_not_answered)
{
    two_addresses s;
    const auto session = s.zk->session_id();
    s.first.on_reply(opcode::create2, reaction::drop_and_cut);
    const outcome<create_result> created;
    s.zk->async_create(own_node() + "/written", "", create_mode::ephemeral, created.handler());
    BOOST_REQUIRE(s.until(connection_state::suspended));
    const auto attempts = s.zk->stats().connect_attempts;
    BOOST_TEST(becomes_true(s.io, [&] { return s.zk->stats().connect_attempts > attempts + 5; }));
    BOOST_TEST(s.first.accepted() == s.reached);
    s.second.refuse(false);
    BOOST_TEST(s.until(connection_state::connected));
    BOOST_TEST(s.zk->session_id() == session);
    BOOST_TEST(s.first.accepted() == s.reached);
    s.close();
}

// A read may be late. Nothing comes of that.
BOOST_AUTO_TEST_CASE(the_session_is_offered_again_where_a_read_was_not_answered)
{
    two_addresses s;
    s.first.on_reply(opcode::get_data, reaction::drop_and_cut);
    const outcome<get_result> read;
    s.zk->async_get("/", read.handler());
    // It may be connected again before anybody sees it suspended.
    BOOST_TEST(becomes_true(s.io, [&] { return s.first.accepted() > s.reached; }));
    BOOST_TEST(s.until(connection_state::connected));
    BOOST_TEST(s.first.accepted() == s.reached + 1);
    s.close();
}

BOOST_AUTO_TEST_CASE(the_only_address_is_offered_the_session_at_once)
{
    two_addresses s{false};
    const auto given_up = s.give_up();
    BOOST_TEST(becomes_true(s.io, [&] { return s.first.accepted() > s.reached; }));
    BOOST_TEST((std::chrono::steady_clock::now() - given_up < session_time));
    s.first.stall(false);
    BOOST_TEST(s.until(connection_state::connected));
    s.close();
}

BOOST_AUTO_TEST_CASE(a_server_that_never_closes_is_tried_again_when_the_session_is_over)
{
    two_addresses s;
    const auto given_up = s.give_up();
    BOOST_TEST(becomes_true(s.io, [&] { return s.first.accepted() > s.reached; }));
    BOOST_TEST((std::chrono::steady_clock::now() - given_up > session_time - 500ms));
    s.first.stall(false);
    BOOST_TEST(s.until(connection_state::connected));
    s.close();
}

BOOST_AUTO_TEST_CASE(closing_the_client_waits_for_no_server_that_stalls)
{
    two_addresses s;
    s.give_up();
    s.close();
    BOOST_TEST(run_to_the_end(s.io));
    BOOST_TEST(becomes_true(s.io, [&] { return s.second.live() == 0; }));
    s.first.stall(false);
    BOOST_TEST(becomes_true(s.io, [&] { return s.first.live() == 0; }));
}

BOOST_AUTO_TEST_CASE(the_client_goes_while_a_server_stalls)
{
    two_addresses s;
    s.give_up();
    s.zk.reset();
    BOOST_TEST(run_to_the_end(s.io));
}

BOOST_AUTO_TEST_CASE(the_context_goes_while_a_server_stalls)
{
    tcp_proxy first = link_proxy(one_server::get());
    tcp_proxy second = link_proxy(one_server::get());
    second.refuse(true);
    std::optional<client> zk;
    {
        asio::io_context io;
        zk.emplace(io, link_client({.hosts = first.connect_string() + ',' + second.connect_string(),
                                    .session_timeout = session_time,
                                    .tick = 500ms}));
        const outcome<> connected;
        zk->async_connect(connected.handler());
        value_of(io, connected);
        first.stall(true);
        BOOST_REQUIRE(becomes_true(io, [&] { return zk->state() == connection_state::suspended; }));
    }
    first.stall(false);
    zk.reset();
    BOOST_TEST(first.live() <= 1U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::client_old_sockets_test
