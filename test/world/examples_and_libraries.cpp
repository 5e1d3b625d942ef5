// The coroutines of those examples that need other libraries, in virtual time, unchanged. An example whose library is not
// installed is left out.
//  - thread_pool: without its threads. What a thread of the pool computes takes real time, and no virtual time;
//  - tls: without TLS, which worlds do not have. Credentials are the identity that the certificate is elsewhere;
//  - metrics: without the port at which main() serves them.
#include <colock/colock.hpp>

#include "../../examples/spans/otlp.hpp"
#include "example_scene.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>
#ifdef WITH_LOGGING
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#endif
#ifdef WITH_METRICS
#include "../../examples/metrics/prometheus.hpp"

#include <prometheus/exposer.h>
#endif
#ifdef WITH_TLS
#include <boost/asio/ssl/context.hpp>
#endif

// As in examples.cpp.
#pragma GCC diagnostic ignored "-Wreturn-type"
namespace spans {
#include "../../examples/spans.cpp"
}
namespace thread_pool {
#include "../../examples/thread_pool.cpp"
}
namespace yield {
#include "../../examples/yield.cpp"
}
#ifdef WITH_LOGGING
namespace logging {
#include "../../examples/logging.cpp"
}
#endif
#ifdef WITH_METRICS
namespace metrics_example {
#include "../../examples/metrics.cpp"
}
#endif
#ifdef WITH_TLS
namespace tls {
#include "../../examples/tls.cpp"
}
#endif

namespace world {

BOOST_AUTO_TEST_SUITE(world_of_examples_and_libraries)

BOOST_FIXTURE_TEST_CASE(spans, scene)
{
    for (const std::string name : {"one", "other"}) {
        w.start_process(name, [this](auto& context, std::string hosts) -> asio::awaitable<void> {
            const auto to = std::make_shared<otlp::spans>(text);
            colock::client zk{context, {.hosts = hosts, .observer = to}};
            co_await zk.async_connect();
            co_await ::spans::work(zk, std::string(32, 'a'));
            co_await zk.async_close();
        });
    }
    w.run_for(1s);
    BOOST_TEST(printed(R"("name":"acquire")") == 2U);
    BOOST_TEST(printed(R"("name":"hold")") == 2U);
    BOOST_TEST(printed("colock.holder.node") == 1U); // the other one waited for it
}

BOOST_FIXTURE_TEST_CASE(thread_pool, scene)
{
    start("one", [](auto& zk) -> asio::awaitable<void> {
        co_await zk.async_connect();
        co_await ::thread_pool::handle(zk, "0");
        co_await ::thread_pool::handle(zk, "1");
        co_await zk.async_close();
    });
    w.run_for(1s);
    BOOST_TEST(w.has_ended("one"));
    BOOST_TEST(w.nodes("/locks/customers").size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(yield, scene)
{
    for (const std::string name : {"one", "other"}) {
        start(name, [](auto& zk) -> asio::awaitable<void> {
            const auto run = [&](asio::yield_context token) { ::yield::greet(zk, token); };
            co_await asio::spawn(zk.get_executor(), run, asio::use_awaitable);
        });
    }
    w.run_for(1s);
    BOOST_TEST(printed("hello, my fencing token is ") == 2U);
    BOOST_TEST(w.has_ended("other"));
}

#ifdef WITH_LOGGING
BOOST_FIXTURE_TEST_CASE(logging, scene)
{
    const auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(text);
    const auto logger = std::make_shared<spdlog::logger>("colock", sink);
    logger->set_level(spdlog::level::debug);
    spdlog::set_default_logger(logger);
    w.start_process("one", [logger](auto& context, std::string hosts) -> asio::awaitable<void> {
        colock::client_options options{.hosts = hosts, .log = ::logging::into(logger)};
        options.log_threshold = colock::log_level::debug;
        colock::client zk{context, options};
        co_await ::logging::run(zk);
    });
    w.run_for(1s);
    BOOST_TEST(printed("at work with fencing token ") == 2U);
    BOOST_TEST(printed("/locks/orders") > 1U); // what colock says
}
#endif

#ifdef WITH_METRICS
BOOST_FIXTURE_TEST_CASE(metrics, scene)
{
    const auto paths = std::make_shared<::metrics::of_paths>();
    w.start_process("one", [paths](auto& context, std::string hosts) -> asio::awaitable<void> {
        colock::client zk{context, {.hosts = hosts, .observer = paths, .histograms = true}};
        co_await ::metrics_example::work(zk);
    });
    w.run_for(9s);
    const auto counted = paths->Collect();
    BOOST_REQUIRE(counted.front().name == "colock_path_granted_total");
    BOOST_TEST(counted.front().metric.front().counter.value > 100);
}
#endif

#ifdef WITH_TLS
BOOST_FIXTURE_TEST_CASE(tls, scene)
{
    w.start_process("one", [](auto& context, std::string hosts) -> asio::awaitable<void> {
        colock::client_options options{.hosts = hosts};
        options.credentials = {{"digest", "till:secret"}};
        options.acl = colock::creator_acl();
        colock::client zk{context, options};
        co_await ::tls::work(zk);
    });
    w.run_for(1s);
    BOOST_TEST(printed("the till is mine, by token ") == 1U);
}
#endif

BOOST_AUTO_TEST_SUITE_END()

} // namespace world
