// Another list of servers at run time: the session lives on, wherever the ensemble is the same.
#include <support/lock_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <future>
#include <string>
#include <vector>

namespace colock::test::other_hosts_test {

namespace {

outcome<> give(client& c, std::string hosts)
{
    outcome<> o;
    c.async_set_hosts(std::move(hosts), o.handler());
    return o;
}

// One server with two addresses.
struct two_addresses : lock_scene {
    two_addresses() : zk{connect_through(first, {.session_timeout = 10s})} {}

    error_code set_hosts(const std::string& hosts) { return code_of(io, give(zk, hosts)); }

    tcp_proxy first = link_proxy(server);
    tcp_proxy second = link_proxy(server);
    client& zk;
    const std::int64_t session = zk.session_id();
};

} // namespace

BOOST_AUTO_TEST_SUITE(other_hosts)

BOOST_AUTO_TEST_CASE(a_connection_to_a_server_in_both_lists_stays)
{
    two_addresses s;
    const auto connection = s.zk.connection_id();
    BOOST_TEST(s.set_hosts(s.second.connect_string() + "," + s.first.connect_string()) ==
               error_code{});
    BOOST_TEST(s.set_hosts(s.first.connect_string()) == error_code{});
    BOOST_TEST(s.zk.connection_id() == connection);
    BOOST_TEST(s.zk.stats().connections == 1U);
}

BOOST_AUTO_TEST_CASE(a_client_moves_with_its_locks_and_no_request_is_lost)
{
    two_addresses s;
    const auto held = s.hold(s.zk);
    BOOST_REQUIRE(code_of(s.io, [&] {
                      outcome<create_result> o;
                      s.zk.async_create(s.directory + "-data", "", o.handler());
                      return o;
                  }()) == error_code{});
    std::vector<outcome<node_stat>> writes;
    const auto write = [&] {
        s.zk.async_set(s.directory + "-data", "x", writes.emplace_back().handler());
    };
    for (int i = 0; i != 100; ++i) {
        write();
    }
    const auto given = give(s.zk, s.second.connect_string());
    while (!given.done()) {
        write();
        s.io.restart();
        s.io.run_one();
    }
    BOOST_TEST(code_of(s.io, given) == error_code{});
    BOOST_TEST(s.second.accepted() == 1U);
    for (const auto& each : writes) {
        BOOST_TEST(code_of(s.io, each) == error_code{});
    }
    BOOST_TEST(static_cast<bool>(held));
    BOOST_TEST(s.zk.session_id() == s.session);
    BOOST_TEST(s.zk.stats().sessions == 1U);
}

BOOST_AUTO_TEST_CASE(a_server_that_stalls_is_left_and_not_offered_the_session_until_it_has_closed)
{
    two_addresses s;
    const auto reached = s.first.accepted();
    s.first.stall(true);
    const outcome<create_result> lost;
    s.zk.async_create(s.directory + "-data", "", lost.handler());
    BOOST_TEST(s.set_hosts(s.second.connect_string()) == error_code{});
    BOOST_TEST(code_of(s.io, lost) == zookeeper_errc::connection_loss);
    // Back, while it has yet to read what was written there.
    const auto back = give(s.zk, s.first.connect_string());
    BOOST_TEST(s.until([&] { return s.zk.state() == connection_state::suspended; }));
    go_on(s.io, 300ms);
    BOOST_TEST(s.first.accepted() == reached);
    BOOST_TEST(s.set_hosts(s.second.connect_string()) == error_code{});
    BOOST_TEST(back.ok());
    s.first.stall(false);
    BOOST_TEST(s.zk.session_id() == s.session);
}

// Though nothing was lost with that connection.
BOOST_AUTO_TEST_CASE(a_server_that_was_left_is_not_offered_the_session_until_it_has_closed)
{
    two_addresses s;
    const auto reached = s.first.accepted();
    s.first.stall(true);
    BOOST_TEST(s.set_hosts(s.second.connect_string()) == error_code{});
    const auto back = give(s.zk, s.first.connect_string() + "," + s.second.connect_string());
    s.second.cut(cut_kind::reset);
    BOOST_TEST(s.until([&] { return s.zk.stats().connections == 3; }));
    BOOST_TEST(s.first.accepted() == reached);
    BOOST_TEST(s.second.accepted() == 2U);
    BOOST_TEST(code_of(s.io, back) == error_code{});
    s.first.stall(false);
    BOOST_TEST(s.zk.session_id() == s.session);
}

BOOST_AUTO_TEST_CASE(a_list_that_cannot_be_read_changes_nothing)
{
    two_addresses s;
    outcome<> o;
    diagnostics why;
    s.zk.async_set_hosts("a:1,b:no", bind_diagnostics(why, o.handler()));
    BOOST_TEST(code_of(s.io, o) == errc::invalid_hosts);
    BOOST_TEST(why.message().find("b:no") != std::string::npos);
    BOOST_TEST(s.set_hosts(s.first.connect_string() + "/root") == errc::invalid_hosts);
    s.first.cut(cut_kind::reset);
    BOOST_TEST(s.until([&] { return s.first.accepted() == 2; }));
}

BOOST_AUTO_TEST_CASE(a_list_may_be_given_at_any_time)
{
    two_addresses s;
    client other{s.io, link_client({.hosts = "127.0.0.1:1"})};
    BOOST_TEST(code_of(s.io, give(other, s.second.connect_string())) == error_code{});
    const outcome<> connected;
    other.async_connect(connected.handler());
    BOOST_TEST(code_of(s.io, connected) == error_code{});
    // While there is no connection, and twice.
    s.first.refuse(true);
    s.first.cut(cut_kind::reset);
    BOOST_TEST(s.until([&] { return s.zk.state() == connection_state::suspended; }));
    const auto one = give(s.zk, s.first.connect_string());
    asio::cancellation_signal cancel;
    outcome<> cancelled;
    s.zk.async_set_hosts(s.first.connect_string(),
                         asio::bind_cancellation_slot(cancel.slot(), cancelled.handler()));
    go_on(s.io, 50ms);
    cancel.emit(asio::cancellation_type::total);
    BOOST_TEST(code_of(s.io, cancelled) == asio::error::operation_aborted);
    BOOST_TEST(!one.done());
    const auto two = give(s.zk, s.second.connect_string());
    BOOST_TEST(code_of(s.io, one) == error_code{});
    BOOST_TEST(code_of(s.io, two) == error_code{});
    BOOST_TEST(s.zk.session_id() == s.session);
    const outcome<> closed;
    other.async_close(closed.handler());
    BOOST_TEST(code_of(s.io, closed) == error_code{});
    BOOST_TEST(code_of(s.io, give(other, "nonsense:")) == errc::invalid_hosts);
    outcome<> late;
    diagnostics why;
    other.async_set_hosts(s.second.connect_string(), bind_diagnostics(why, late.handler()));
    BOOST_TEST(code_of(s.io, late) == errc::client_closed);
    BOOST_TEST(why.message() == error_code{errc::client_closed}.message());
}

BOOST_AUTO_TEST_CASE(another_ensemble_does_not_know_the_session)
{
    two_addresses s;
    zookeeper_server stranger{link_servers()};
    auto held = s.hold(s.zk);
    const outcome<error_code> lost;
    held.async_wait_lost(lost.handler());
    BOOST_TEST(s.set_hosts(link_hosts(stranger)) == error_code{});
    BOOST_TEST(value_of(s.io, lost) == errc::session_expired);
    BOOST_TEST(!static_cast<bool>(held));
    BOOST_TEST(s.zk.stats().sessions >= 2U); // a slow server may need another try
    BOOST_TEST(s.zk.session_id() != s.session);
}

// What an operator does who needs three other machines.
BOOST_AUTO_TEST_CASE(three_servers_are_replaced_one_by_one_and_no_lock_is_lost)
{
    zookeeper_ensemble ensemble{zookeeper_ensemble::reconfigurable(
        link_servers({.tick_time = 500ms, .max_session_timeout = 40s}))};
    lock_scene s{ensemble[0]};
    std::vector<std::size_t> members{0, 1, 2};
    const auto hosts = [&] {
        std::string all;
        for (const auto i : members) {
            all += (all.empty() ? "" : ",") + link_hosts(ensemble[i]);
        }
        return all;
    };
    std::vector<unique_lock> held;
    for (int i = 0; i != 6; ++i) {
        auto& c = s.connect({.hosts = hosts(), .session_timeout = 40s, .tick = 500ms});
        outcome<unique_lock> o;
        mutex{c, s.directory + "-" + std::to_string(i)}.async_lock(o.handler());
        held.push_back(value_of(s.io, o));
    }
    for (auto& each : members) {
        const auto old = each;
        // It blocks, and the clients have to run meanwhile.
        auto replacement = std::async(std::launch::async, [&] { return ensemble.replace(old); });
        BOOST_TEST(s.until([&] { return replacement.wait_for(0s) == std::future_status::ready; }));
        each = replacement.get();
        std::vector<outcome<>> given;
        for (auto& c : s.clients) {
            given.push_back(give(c, hosts()));
        }
        for (const auto& o : given) {
            BOOST_TEST(code_of(s.io, o) == error_code{});
        }
        BOOST_TEST(s.until([&] {
            return std::ranges::none_of(ensemble[old].connections(), [&](const auto& c) {
                return s.sessions.contains(c.session);
            });
        }));
        ensemble[old].kill();
        const auto& all = held;
        BOOST_TEST(std::ranges::all_of(all, [](const auto& h) { return static_cast<bool>(h); }));
    }
    for (auto& each : held) {
        BOOST_TEST(s.unlock(each) == error_code{}); // the ensemble of the three others serves
    }
    for (const auto& c : s.clients) {
        BOOST_TEST(c.stats().sessions == 1U);
        BOOST_TEST(c.stats().locks_lost == 0U);
    }
    s.close_all();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::other_hosts_test
