// Connections that break in every way, and what the client makes of it: reads are repeated, writes never are.
#include <colock/client.hpp>
#include <support/client_scene.hpp>
#include <support/figures.hpp>
#include <support/loopback_port.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::client_connection_test {

using namespace std::chrono_literals;

namespace {

client_options with_session_of(std::chrono::milliseconds timeout)
{
    client_options options;
    options.session_timeout = timeout;
    return options;
}

// This process's sockets that are connected to a port of the loopback.
std::vector<int> sockets_to(std::uint16_t port)
{
    std::vector<int> found;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
        const int fd = std::stoi(entry.path().filename().string());
        sockaddr_in peer{};
        socklen_t size = sizeof peer;
        if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
            peer.sin_family == AF_INET && ntohs(peer.sin_port) == port) {
            found.push_back(fd);
        }
    }
    return found;
}

// From now on the client's sends fail, and nothing else tells it: its peer does not answer either.
void break_sending(client_scene& s)
{
    s.proxy.stall(true);
    const auto sockets = sockets_to(s.proxy.port());
    BOOST_REQUIRE(!sockets.empty());
    BOOST_REQUIRE(::shutdown(sockets.front(), SHUT_WR) == 0);
}

} // namespace

BOOST_AUTO_TEST_SUITE(client_connection, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(of_several_hosts_one_that_lives_is_enough_to_connect_and_to_reconnect)
{
    // ZooKeeper's own client visits every second entry of a list with an even number of them.
    for (const std::size_t dead : {1U, 3U, 2U}) {
        tcp_proxy alive = link_proxy(one_server::get());
        const std::vector<loopback_port> nobody(dead);
        client_options options;
        options.hosts = alive.connect_string();
        for (const auto& port : nobody) {
            options.hosts += "," + port.address();
        }
        client_scene s{options};
        s.connect();
        for (std::uint64_t i = 2; i != 5; ++i) {
            alive.cut();
            BOOST_TEST(becomes_true(s.io, [&] { return s.zk.stats().connections == i; }));
            BOOST_TEST(!s.get("/").failed());
        }
        BOOST_TEST(s.zk.stats().sessions == 1u);
        s.close();
    }
}

BOOST_AUTO_TEST_CASE(a_host_that_accepts_and_never_answers_is_given_up_for_the_next)
{
    tcp_proxy silent = link_proxy(one_server::get());
    silent.stall(true);
    // The order is random: until it has been tried first.
    while (silent.accepted() == 0) {
        auto options = with_session_of(4s);
        tcp_proxy alive = link_proxy(one_server::get());
        options.hosts = silent.connect_string() + "," + alive.connect_string();
        client_scene s{options};
        s.connect();
        alive.cut();
        BOOST_TEST(becomes_true(s.io, [&] { return s.zk.stats().connections == 2; }));
        BOOST_TEST(s.zk.stats().sessions == 1u);
        s.close();
    }
}

BOOST_AUTO_TEST_CASE(a_send_that_fails_and_closes_the_socket_without_an_event_is_noticed)
{
    client_scene s;
    s.connect();
    const auto session = s.zk.session_id();
    break_sending(s);
    const outcome<create_result> write;
    const outcome<get_result> read;
    s.zk.async_create(s.root + "/n", "", create_mode::persistent, write.handler());
    s.zk.async_get("/", read.handler());
    s.proxy.cut(); // those who do not notice hear nothing of this either: it is their dead socket's
    s.proxy.stall(false);
    BOOST_TEST(!code_of(s.io, read, 5s).failed());
    const auto ec = code_of(s.io, write, 5s);
    BOOST_TEST((!ec || colock::outcome_unknown(ec)));
    BOOST_TEST(s.zk.session_id() == session);
    BOOST_TEST(s.zk.stats().connections == 2u);
    s.close();
}

BOOST_AUTO_TEST_CASE(a_send_that_fails_is_noticed_even_when_the_peer_stays_silent)
{
    client_scene s;
    s.connect();
    break_sending(s);
    const outcome<> write;
    s.zk.async_remove(s.root + "/absent", any_version, write.handler());
    const auto ec = code_of(s.io, write, 5s); // long before any time-out
    BOOST_TEST(colock::outcome_unknown(ec));
    BOOST_TEST(s.zk.state() == connection_state::suspended);
    s.proxy.cut();
    s.proxy.stall(false);
    BOOST_TEST(s.wait_for(connection_state::connected));
    s.close();
}

BOOST_AUTO_TEST_CASE(a_ping_that_cannot_be_sent_is_noticed_and_does_not_spin)
{
    client_scene s{with_session_of(1s)};
    s.connect();
    const auto before = s.zk.stats().wakeups;
    break_sending(s);
    BOOST_TEST(s.wait_for(connection_state::suspended));
    BOOST_TEST(s.zk.stats().wakeups - before < 20u);
    s.proxy.cut();
    s.proxy.stall(false);
    BOOST_TEST(s.wait_for(connection_state::connected));
    s.close();
}

BOOST_AUTO_TEST_CASE(a_connection_that_falls_silent_is_given_up_before_the_session_is)
{
    constexpr auto timeout = 9'000ms; // the last third of it is room for a slow machine
    client_scene s{with_session_of(timeout)};
    s.connect();
    const auto session = s.zk.session_id();
    s.proxy.stall(true);
    const outcome<create_result> write;
    const outcome<get_result> read;
    s.zk.async_create(s.root + "/n", "", create_mode::persistent, write.handler());
    s.zk.async_get("/", read.handler());
    BOOST_TEST(s.wait_for(connection_state::suspended, timeout - 100ms));
    BOOST_TEST(colock::outcome_unknown(code_of(s.io, write)));
    BOOST_TEST(!read.done());
    s.proxy.cut();
    s.proxy.stall(false);
    BOOST_TEST(!code_of(s.io, read).failed());
    BOOST_TEST(s.zk.session_id() == session);
    s.close();
}

BOOST_AUTO_TEST_CASE(over_a_restart_of_the_server_nothing_is_lost_silently_and_nothing_done_twice)
{
    zookeeper_server server{link_servers()};
    client_scene s{{}, server};
    s.connect();
    const auto session = s.zk.session_id();
    BOOST_TEST(!s.create(s.root + "/e", create_mode::ephemeral).failed());

    // Sent, and in the hands of a server that dies.
    server.stop_process();
    const outcome<create_result> sent_write;
    const outcome<get_result> sent_read;
    s.zk.async_create(s.root + "/sent-", "", create_mode::persistent_sequential,
                      sent_write.handler());
    s.zk.async_get(s.root, sent_read.handler());
    BOOST_TEST(becomes_true(s.io, [&] { return s.zk.stats().in_flight == 2; }));
    server.kill();
    BOOST_TEST(colock::outcome_unknown(code_of(s.io, sent_write)));
    BOOST_TEST(s.zk.connection_id() == 0u);

    // Not sent: waits.
    const outcome<create_result> write;
    const outcome<get_result> read;
    s.zk.async_create(s.root + "/waiting-", "", create_mode::persistent_sequential,
                      write.handler());
    s.zk.async_get(s.root, read.handler());
    BOOST_TEST(becomes_true(s.io, [&] { return s.zk.stats().waiting == 3; }));
    BOOST_TEST(!sent_read.done());
    server.start();
    BOOST_TEST(!code_of(s.io, sent_read).failed());
    BOOST_TEST(!code_of(s.io, write).failed());
    BOOST_TEST(!code_of(s.io, read).failed());
    BOOST_TEST(s.zk.session_id() == session);
    BOOST_TEST(!s.get(s.root + "/e").failed());
    BOOST_TEST(s.admin.children(s.root).size() == 2u); // no write was sent again
    BOOST_TEST(s.zk.stats().waiting == 0u);
    s.close();
}

BOOST_AUTO_TEST_CASE(a_write_whose_reply_is_lost_is_carried_out_once_and_reported_as_unknown)
{
    client_scene s;
    s.connect();
    const auto session = s.zk.session_id();
    const auto connection = s.zk.connection_id();
    const auto lost = s.proxy.on_reply(any_create(), reaction::drop_and_cut);
    BOOST_TEST(
        colock::outcome_unknown(s.create(s.root + "/n-", create_mode::ephemeral_sequential)));
    BOOST_TEST(lost.wait(long_enough));
    BOOST_TEST(s.zk.last_error_detail().find(s.root + "/n-") != std::string::npos);
    BOOST_TEST(s.admin.children(s.root).size() == 1u);
    BOOST_TEST(s.wait_for(connection_state::connected));
    BOOST_TEST(s.zk.session_id() == session);
    BOOST_TEST(s.zk.connection_id() != connection);

    s.proxy.on_reply(opcode::multi, reaction::drop_and_cut,
                     {.path_prefix = s.root}); // not the client's own
    const outcome<std::vector<colock::transaction_result>> multi;
    s.zk.async_multi({colock::create_op(s.root + "/m")}, multi.handler());
    BOOST_TEST(colock::outcome_unknown(code_of(s.io, multi)));
    BOOST_TEST(multi.value().empty());
    BOOST_TEST(s.admin.exists(s.root + "/m").has_value());

    // A read is repeated instead, and the one behind it keeps its place.
    s.proxy.on_reply(opcode::get_data, reaction::drop_and_cut);
    std::vector<int> order;
    for (int i = 0; i != 20; ++i) {
        s.zk.async_get(s.root, [&, i](colock::error_code ec, const get_result&) {
            BOOST_TEST(!ec);
            order.push_back(i);
        });
    }
    run_until(s.io, [&] { return order.size() == 20; });
    BOOST_TEST(std::is_sorted(order.begin(), order.end()));
    BOOST_TEST(s.admin.children(s.root).size() == 2u);
    s.close();
}

BOOST_AUTO_TEST_CASE(no_write_is_sent_before_the_barrier_is_answered)
{
    client_scene s;
    s.connect();
    s.disconnect();
    const auto barrier = s.proxy.on_reply(opcode::multi, reaction::hold, {.times = 2});
    const outcome<get_result> before, behind;
    const outcome<create_result> write;
    s.zk.async_get(s.root, before.handler());
    s.zk.async_create(s.root + "/n", "", create_mode::persistent, write.handler());
    s.zk.async_get(s.root + "/n", behind.handler());
    s.reconnect();
    BOOST_TEST(becomes_true(s.io, [&] { return barrier.fired() == 1; }));
    BOOST_TEST(becomes_true(s.io, [&] { return s.proxy.requests(opcode::get_data) == 1U; }));
    BOOST_TEST(s.zk.stats().waiting == 2U);
    BOOST_TEST(s.proxy.requests(any_create()) == 0U);

    // It was not sent on this connection, so it waits for the next one. There is no doubt about it.
    s.disconnect();
    BOOST_TEST(s.zk.stats().waiting == 3U);
    s.reconnect();
    BOOST_TEST(becomes_true(s.io, [&] { return barrier.fired() == 2; }));
    BOOST_TEST(s.proxy.requests(any_create()) == 0U);
    tcp_proxy::rule{barrier}.release();
    value_of(s.io, before);
    value_of(s.io, write);
    value_of(s.io, behind); // in their order
    BOOST_TEST(s.proxy.requests(any_create()) == 1U);
    BOOST_TEST(s.zk.stats().waiting == 0U);
    s.close();
}

BOOST_AUTO_TEST_CASE(an_idle_client_wakes_a_few_times_in_each_third_of_its_time_out)
{
    constexpr auto timeout = 3s;
    client_scene s{with_session_of(timeout)};
    s.connect();
    auto next_heartbeat = [&, seen = s.zk.stats().heartbeats]() mutable {
        BOOST_REQUIRE(becomes_true(s.io, [&] { return s.zk.stats().heartbeats > seen; }));
        seen = s.zk.stats().heartbeats;
        return std::chrono::steady_clock::now();
    };
    auto last = next_heartbeat();
    const auto before = s.zk.stats();
    const auto pings = s.proxy.requests(opcode::ping);
    std::vector<double> pauses;
    for (int i = 0; i != 6; ++i) { // three thirds
        const auto now = next_heartbeat();
        pauses.push_back(milliseconds(now - std::exchange(last, now)));
    }
    const auto after = s.zk.stats();
    BOOST_TEST(after.wakeups - before.wakeups <= 4u * 3u);
    // Reads of the heartbeat, six in the time-out, leave nothing to ping for.
    BOOST_TEST(s.proxy.requests(opcode::ping) - pings <= 1u);
    BOOST_TEST(quantile(pauses, 0.5) <= milliseconds(timeout) / 5);
    BOOST_TEST(quantile(pauses, 0.5) >= milliseconds(timeout) / 6.5);
    BOOST_TEST(after.requests - before.requests == after.heartbeats - before.heartbeats);
    BOOST_TEST(after.connections == 1u);
    s.close();
}

BOOST_AUTO_TEST_CASE(without_a_free_file_descriptor_the_client_waits_for_better_times)
{
    const auto with_a_limit = [](auto&& body) {
        rlimit before{};
        BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
        const rlimit none{3, before.rlim_max};
        BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
        body();
        ::setrlimit(RLIMIT_NOFILE, &before);
    };
    client_options options;
    options.hosts = link_hosts(one_server::get()); // the proxy needs descriptors of its own
    std::vector<std::string> lines;
    options.log = [&](colock::log_level, std::string_view text) { lines.emplace_back(text); };
    client_scene s{options};
    s.connect();
    const auto session = s.zk.session_id();
    const auto sockets = sockets_to(link_port(one_server::get()));
    with_a_limit([&] {
        for (const int fd : sockets) {
            ::shutdown(fd, SHUT_RDWR); // the operator's as well, who connects again
        }
        const auto attempts = s.zk.stats().connect_attempts;
        BOOST_TEST(
            becomes_true(s.io, [&] { return s.zk.stats().connect_attempts > attempts + 2; }));
        BOOST_TEST(s.zk.state() == connection_state::suspended);
    });
    // One line, however long that goes on, and none that blames the server.
    const auto told = [&](const char* what) {
        return std::ranges::count_if(
            lines, [&](const auto& line) { return line.find(what) != std::string::npos; });
    };
    BOOST_TEST(told("was not asked: this process has no file descriptors left") == 1);
    BOOST_TEST(told("refuses connections") == 0);
    BOOST_TEST(s.wait_for(connection_state::connected));
    BOOST_TEST(s.zk.session_id() == session);
    BOOST_TEST(!s.get("/").failed());
    with_a_limit([&] { s.close(); });
    BOOST_TEST(!s.server.sessions().contains(session));
}

BOOST_AUTO_TEST_CASE(cancelling_takes_back_what_was_not_sent_and_stops_waiting_for_what_was)
{
    using boost::asio::cancellation_signal;
    using boost::asio::cancellation_type;
    client_scene s;
    s.connect();
    const auto request = s.proxy.on_request({opcode::create2, opcode::get_data}, reaction::hold);
    cancellation_signal cancel_write, cancel_read;
    const outcome<create_result> write;
    const outcome<get_result> read;
    s.zk.async_create(s.root + "/sent", "", create_mode::persistent,
                      boost::asio::bind_cancellation_slot(cancel_write.slot(), write.handler()));
    s.zk.async_get(s.root, boost::asio::bind_cancellation_slot(cancel_read.slot(), read.handler()));
    BOOST_TEST(becomes_true(s.io, [&] { return request.fired() == 1; }));
    cancel_write.emit(cancellation_type::total); // which would mean that nothing has happened
    cancel_read.emit(cancellation_type::total);
    BOOST_TEST(code_of(s.io, read) == boost::asio::error::operation_aborted);
    BOOST_TEST(!write.done());
    cancel_write.emit(cancellation_type::terminal);
    BOOST_TEST(code_of(s.io, write) == boost::asio::error::operation_aborted);
    tcp_proxy::rule{request}.release();
    s.sync();
    BOOST_TEST(s.admin.exists(s.root + "/sent").has_value());

    s.disconnect();
    cancellation_signal cancel;
    const outcome<create_result> waiting;
    s.zk.async_create(s.root + "/unsent", "", create_mode::persistent,
                      boost::asio::bind_cancellation_slot(cancel.slot(), waiting.handler()));
    BOOST_TEST(becomes_true(s.io, [&] { return s.zk.stats().waiting == 1; }));
    cancel.emit(cancellation_type::total);
    BOOST_TEST(code_of(s.io, waiting) == boost::asio::error::operation_aborted);
    BOOST_TEST(s.zk.stats().waiting == 0u);
    s.reconnect();
    s.sync();
    BOOST_TEST(!s.admin.exists(s.root + "/unsent").has_value());
    s.close();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::client_connection_test
