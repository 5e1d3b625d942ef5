// What a client costs that has nothing to do, and one whose servers are away.
#include "scenario.hpp"

#include <colock/client.hpp>

#include <support/zookeeper_server.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace bench {

namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

double processor_seconds()
{
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    const auto of = [](const timeval& t) { return double(t.tv_sec) + double(t.tv_usec) / 1e6; };
    return of(usage.ru_utime) + of(usage.ru_stime);
}

} // namespace

void idle(const run_options& options, report& out)
{
    colock::test::zookeeper_server server;
    asio::io_context context;
    constexpr std::chrono::seconds session{6};
    colock::client client{context, {.hosts = server.connect_string(), .session_timeout = session}};
    bool connected = false;
    client.async_connect([&](colock::error_code ec) {
        if (ec) {
            throw std::runtime_error{ec.message()};
        }
        connected = true;
    });
    while (!connected) {
        context.run_one();
    }

    const auto before = client.stats();
    context.run_for(session);
    const auto wakeups = double(client.stats().wakeups - before.wakeups);
    out.add({"idle", "colock", 0, 1, 1, "wake-ups in a third of the time-out", "1", {wakeups / 3}});

    server.kill();
    const std::chrono::seconds away{options.full ? 60 : options.quick ? 5 : 15};
    const double busy_before = processor_seconds();
    const auto attempts_before = client.stats().connect_attempts;
    context.run_for(away);
    const double busy = processor_seconds() - busy_before;
    const auto attempts = double(client.stats().connect_attempts - attempts_before);
    out.add({"away", "colock", 0, 1, 1, "processor", "% of a core", {100 * busy / seconds{away}.count()}});
    out.add({"away", "colock", 0, 1, 1, "connect attempts", "1/s", {attempts / seconds{away}.count()}});

    steady_clock::time_point serving;
    std::thread starter{[&] {
        server.start();
        serving = steady_clock::now();
    }};
    const auto limit = steady_clock::now() + std::chrono::seconds{60};
    while (client.state() != colock::connection_state::connected && steady_clock::now() < limit) {
        context.run_one_for(std::chrono::seconds{1});
    }
    const auto back = steady_clock::now();
    starter.join();
    if (client.state() != colock::connection_state::connected) {
        throw std::runtime_error{"the client did not come back within a minute"};
    }
    out.add({"away", "colock", 0, 1, 1, "back after", "s", {std::max(0.0, seconds{back - serving}.count())}});
}

} // namespace bench
