// Servers that come back with an older state, or with none: ZooKeeper does not know of it, and promises nothing then.
#include <colock/mutex.hpp>
#include <support/link.hpp>
#include <support/outcome.hpp>
#include <support/print.hpp>
#include <support/run.hpp>
#include <support/zookeeper_server.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <filesystem>
#include <utility>

namespace colock::test::restored_ensemble_test {

using namespace std::chrono_literals;

namespace {

struct scene {
    static zookeeper_options settings()
    {
        zookeeper_options o;
        o.tick_time = 500ms;
        return link_servers(o);
    }
    colock::client_options options() const
    {
        colock::client_options o;
        o.hosts = front.connect_string();
        o.session_timeout = 10s;
        o.tick = 500ms;
        return link_client(std::move(o));
    }

    // What an operator does. The client finds the server again by itself.
    void keep_state()
    {
        server.kill();
        std::filesystem::copy(state, kept, std::filesystem::copy_options::recursive);
        server.start();
    }
    void lose_state()
    {
        server.kill();
        std::filesystem::remove_all(state);
        server.start();
    }
    void restore_state()
    {
        server.kill();
        std::filesystem::remove_all(state);
        std::filesystem::rename(kept, state);
        server.start();
    }

    void connect(colock::client& c)
    {
        const outcome<> o;
        c.async_connect(o.handler());
        value_of(io, o);
    }
    colock::unique_lock lock(colock::client& c)
    {
        const outcome<colock::unique_lock> o;
        colock::mutex{c, "/lock"}.async_lock(o.handler());
        return value_of(io, o);
    }
    template <class Operation>
    bool ends(const Operation& o)
    {
        return becomes_true(io, [&] { return o.done(); });
    }

    zookeeper_server server{settings()};
    link_front front{server.connect_string()};
    const std::filesystem::path state = server.directory() + "/version-2";
    const std::filesystem::path kept = server.directory() + "/kept";
    boost::asio::io_context io;
    colock::client zk{io, options()};
    colock::client other{io, options()};
    outcome<> done;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(restored_ensemble, scene)

BOOST_AUTO_TEST_CASE(G5_a_holder_whose_node_is_not_in_an_older_state_is_told)
{
    connect(zk);
    keep_state();
    const auto held = lock(zk);
    const auto session = zk.session_id();
    const outcome<colock::error_code> lost;
    held.async_wait_lost(lost.handler());
    restore_state();
    BOOST_REQUIRE(ends(lost));
    BOOST_TEST(lost.value() == colock::errc::node_deleted);
    BOOST_TEST(zk.session_id() == session);
    connect(other);
    BOOST_TEST(!!lock(other));
}

// Nobody knows it. It goes with the session.
BOOST_AUTO_TEST_CASE(a_released_node_of_an_older_state_stays_until_its_client_is_closed)
{
    connect(zk);
    auto held = lock(zk);
    keep_state();
    held.async_unlock(done.handler());
    value_of(io, done);
    restore_state();
    connect(other);
    const outcome<colock::unique_lock> next;
    colock::mutex{other, "/lock"}.async_lock(next.handler());
    const outcome<> answered[2];
    zk.async_sync("/", answered[0].handler());
    value_of(io, answered[0]);
    other.async_sync("/", answered[1].handler());
    value_of(io, answered[1]);
    BOOST_TEST(!next.done());
    const outcome<> closed;
    zk.async_close(closed.handler());
    value_of(io, closed);
    BOOST_REQUIRE(ends(next));
    BOOST_TEST(!!next.value());
}

// Tokens of the new ensemble may be smaller: a fenced store refuses them.
BOOST_AUTO_TEST_CASE(G5_a_holder_is_told_by_an_ensemble_that_has_lost_all)
{
    connect(zk);
    for (int i = 0; i != 3; ++i) {
        lock(zk) = {};
    }
    const auto held = lock(zk);
    const auto token = held.token();
    const outcome<colock::error_code> lost;
    held.async_wait_lost(lost.handler());
    lose_state();
    BOOST_REQUIRE(ends(lost));
    BOOST_TEST((lost.value() == colock::condition::lock_lost));
    const auto again = lock(zk);
    BOOST_TEST(!!again);
    BOOST_TEST((again.token() < token));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::restored_ensemble_test
