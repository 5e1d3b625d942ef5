// The words for a failure reach the operation that has failed, with every kind of token.
#include <colock/diagnostics.hpp>

#include "operations.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <string>

using namespace colock;
using namespace colock::test;

namespace {

bool says(const diagnostics& d, const std::string& what)
{
    return d.message().find(what) != std::string::npos;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(diagnostics_of_an_operation, lock_scene)

BOOST_AUTO_TEST_CASE(two_that_fail_at_the_same_time_name_each_its_own_path)
{
    auto& zk = connect();
    colock::diagnostics first, second;
    outcome<get_result> one, other;
    zk.async_get("/first", bind_diagnostics(first, one.handler()));
    zk.async_get("/second", bind_diagnostics(second, other.handler()));
    BOOST_TEST(code_of(io, one) == zookeeper_errc::no_node);
    BOOST_TEST(code_of(io, other) == zookeeper_errc::no_node);
    BOOST_TEST(says(first, "/first"));
    BOOST_TEST(says(second, "/second"));
}

BOOST_AUTO_TEST_CASE(a_success_leaves_no_words)
{
    auto& zk = connect();
    colock::diagnostics why;
    why.assign("of an earlier operation");
    outcome<std::optional<node_stat>> seen;
    zk.async_exists("/nowhere", bind_diagnostics(why, seen.handler()));
    BOOST_TEST(code_of(io, seen) == error_code{});
    BOOST_TEST(why.message().empty());
}

BOOST_AUTO_TEST_CASE(through_the_adapters_on_both_sides)
{
    auto& zk = connect();
    const auto strand = asio::make_strand(io);
    colock::diagnostics inner, outer, redirected, deferred;
    bool on_strand = false;
    zk.async_get("/inner", asio::bind_executor(strand, bind_diagnostics(inner, [&](auto&&...) {
                                                   on_strand = strand.running_in_this_thread();
                                               })));
    zk.async_get("/outer", bind_diagnostics(outer, asio::bind_executor(strand, [](auto&&...) {})));
    error_code ec;
    bool ended = false;
    asio::co_spawn(
        io,
        [&]() -> asio::awaitable<void> {
            const auto [failed, got] =
                co_await zk.async_get("/deferred", asio::as_tuple(bind_diagnostics(deferred)));
            BOOST_TEST(failed == zookeeper_errc::no_node);
            co_await zk.async_get(
                "/redirected",
                bind_diagnostics(redirected, asio::redirect_error(asio::use_awaitable, ec)));
            ended = true;
        },
        asio::detached);
    BOOST_TEST(until([&] { return ended; }));
    BOOST_TEST(on_strand);
    BOOST_TEST(says(inner, "/inner"));
    BOOST_TEST(says(outer, "/outer"));
    BOOST_TEST(says(deferred, "/deferred"));
    BOOST_TEST(says(redirected, "/redirected"));
    BOOST_TEST(ec == zookeeper_errc::no_node);
}

BOOST_AUTO_TEST_CASE(with_a_future)
{
    auto& zk = connect();
    colock::diagnostics why;
    auto future = zk.async_remove("/future", any_version, bind_diagnostics(why, asio::use_future));
    BOOST_TEST(until([&] { return future.wait_for(0s) == std::future_status::ready; }));
    BOOST_CHECK_THROW(future.get(), boost::system::system_error);
    BOOST_TEST(says(why, "/future"));
}

BOOST_AUTO_TEST_CASE(bad_input_and_a_connect_that_fails)
{
    auto& zk = connect();
    colock::diagnostics path, hosts;
    outcome<get_result> got;
    zk.async_get("relative", bind_diagnostics(path, got.handler()));
    BOOST_TEST(code_of(io, got) == errc::invalid_path);
    BOOST_TEST(says(path, "relative"));

    client elsewhere{io, {.hosts = "nonsense:port"}};
    outcome<error_code> connected;
    elsewhere.async_connect(bind_diagnostics(hosts, connected.handler()));
    BOOST_TEST(code_of(io, connected) == errc::invalid_hosts);
    BOOST_TEST(says(hosts, "nonsense"));
}

BOOST_AUTO_TEST_SUITE_END()
