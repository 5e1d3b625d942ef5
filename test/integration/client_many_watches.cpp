// More watches than ZooKeeper's own client could bring over a reconnection: it sends one packet with all their
// paths, which the server refuses when it is larger than 1 MB, again and again.
#include <colock/client.hpp>
#include <support/admin_session.hpp>
#include <support/link.hpp>
#include <support/print.hpp>
#include <support/run.hpp>
#include <support/tcp_proxy.hpp>
#include <support/zookeeper_server.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace colock::test::client_many_watches_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

constexpr std::size_t count = 12'000;

std::string path_of(std::size_t i)
{
    auto number = std::to_string(i);
    return "/" + std::string(100, 'n') + std::string(6 - number.size(), '0') + number;
}

struct watched_node {
    colock::watch watch;
    std::vector<watch_event_type> events;
};

} // namespace

BOOST_AUTO_TEST_SUITE(client_many_watches)

BOOST_AUTO_TEST_CASE(
    twelve_thousand_watches_survive_a_restart_and_those_whose_node_has_changed_fire)
{
    zookeeper_server server{link_servers()};
    tcp_proxy proxy = link_proxy(server);
    asio::io_context context;
    client zk{context, link_client({.hosts = proxy.connect_string()})};
    std::vector<watched_node> nodes(count);
    std::size_t errors = 0, done = 0, fired = 0;
    run(context, [&]() -> asio::awaitable<void> { co_await zk.async_connect(); }());

    for (std::size_t i = 0; i != count; ++i) {
        zk.async_create(
            path_of(i), "", colock::create_mode::persistent,
            [&](colock::error_code ec, const colock::create_result&) { errors += ec.failed(); });
        zk.async_watch(path_of(i),
                       [&, i](colock::error_code ec, colock::watched<colock::get_result> r) {
                           errors += ec.failed();
                           ++done;
                           nodes[i].watch = std::move(r.changes);
                           nodes[i].watch.async_wait(
                               [&, i](colock::error_code failed, const colock::watch_event& event) {
                                   errors += failed.failed() || event.path != path_of(i);
                                   nodes[i].events.push_back(event.type);
                                   ++fired;
                               });
                       });
    }
    run_until(
        context, [&] { return done == count; }, 60s);
    BOOST_TEST(errors == 0u);
    BOOST_TEST(server.watch_count() == static_cast<std::int64_t>(count));
    BOOST_TEST(fired == 0u);

    const auto session = zk.session_id();
    proxy.refuse(true);
    server.restart();
    run(context, [&]() -> asio::awaitable<void> {
        while (zk.state() == colock::connection_state::connected) {
            co_await zk.async_wait_state_change(colock::connection_state::connected);
        }
    }());
    {
        admin_session admin{server.connect_string()};
        for (std::size_t i = 0; i < count; i += 10) {
            admin.remove(path_of(i));
            admin.set(path_of(i + 1), "changed");
        }
    }
    BOOST_TEST(fired == 0u);
    proxy.refuse(false);

    run_until(
        context, [&] { return fired >= count / 5; }, 60s);
    run(context, [&]() -> asio::awaitable<void> { co_await zk.async_sync("/"); }());
    BOOST_TEST(fired == count / 5);
    BOOST_TEST(zk.session_id() == session);
    BOOST_TEST(server.watch_count() == static_cast<std::int64_t>(count - count / 5));
    BOOST_TEST(zk.stats().connections == 2u);

    // All others are set again.
    for (std::size_t i = 0; i != count; ++i) {
        if (i % 10 > 1) {
            zk.async_set(
                path_of(i), "now", colock::any_version,
                [&](colock::error_code ec, const colock::node_stat&) { errors += ec.failed(); });
        }
    }
    run_until(
        context, [&] { return fired >= count; }, 60s);
    for (std::size_t i = 0; i != count; ++i) {
        const auto expected = i % 10 == 0 ? watch_event_type::deleted : watch_event_type::changed;
        errors += nodes[i].events != std::vector{expected};
    }
    BOOST_TEST(errors == 0u);
    BOOST_TEST(server.watch_count() == 0);
    run(context, [&]() -> asio::awaitable<void> { co_await zk.async_close(); }());
    BOOST_TEST(run_to_the_end(context));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::client_many_watches_test
