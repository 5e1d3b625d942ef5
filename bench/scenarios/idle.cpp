// What a client costs that has nothing to do, and one whose servers are away.
#include <colock/client.hpp>
#include <support/zookeeper_server.hpp>

#include "arena.hpp"
#include "interruption.hpp"
#include "scenario.hpp"

#include <boost/asio/io_context.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>

namespace bench {

namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

// Of all threads, so that one that was added would be seen.
double processor_seconds()
{
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto of = [](const timeval& t) { return double(t.tv_sec) + double(t.tv_usec) / 1e6; };
    return of(usage.ru_utime) + of(usage.ru_stime);
}

constexpr std::chrono::seconds session{6};

class lone_client {
public:
    explicit lone_client(const std::string& hosts)
        : client_{context_, {.hosts = hosts, .session_timeout = session}}
    {
        bool connected = false;
        client_.async_connect([&](colock::error_code ec) {
            if (ec) {
                throw std::runtime_error{"idle: " + ec.message()};
            }
            connected = true;
        });
        while (!connected) {
            context_.run_one();
        }
    }

    void run_for(std::chrono::milliseconds time) { context_.run_for(time); }
    bool connected() const { return client_.state() == colock::connection_state::connected; }
    colock::client_stats stats() const { return client_.stats(); }

    // In percent of a core.
    double load_in(std::chrono::milliseconds time)
    {
        const double before = processor_seconds();
        run_for(time);
        return 100 * (processor_seconds() - before) / seconds{time}.count();
    }

private:
    asio::io_context context_;
    colock::client client_;
};

void with_server(const run_options& options, report& out, lone_client& client)
{
    figure wakeups{"idle", "colock", 0, 1, 1, "wake-ups in a third of the time-out", "1", {}};
    figure load{"idle", "colock", 0, 1, 1, "processor", "% of a core", {}};
    for (int i = 0; i != (options.full ? 30 : options.quick ? 3 : 6); ++i) {
        check_interruption();
        const auto before = client.stats().wakeups;
        load.rounds.push_back(client.load_in(session / 3));
        wakeups.rounds.push_back(double(client.stats().wakeups - before));
    }
    out.add(std::move(wakeups));
    out.add(std::move(load));
}

void without_server(const run_options& options, report& out, lone_client& client)
{
    figure attempts{"away", "colock", 0, 1, 1, "connect attempts", "1/s", {}};
    figure load{"away", "colock", 0, 1, 1, "processor", "% of a core", {}};
    for (int i = 0; i != (options.full ? 60 : options.quick ? 5 : 15); ++i) {
        check_interruption();
        const auto before = client.stats().connect_attempts;
        load.rounds.push_back(client.load_in(std::chrono::seconds{1}));
        attempts.rounds.push_back(double(client.stats().connect_attempts - before));
    }
    const double most = attempts.max();
    out.add(std::move(attempts));
    out.add({"away", "colock", 0, 1, 1, "connect attempts in the worst second", "1/s", {most}});
    out.add(std::move(load));
}

double seconds_to_return(colock::test::zookeeper_server& server, lone_client& client)
{
    steady_clock::time_point serving;
    auto starter = std::async(std::launch::async, [&] {
        server.start();
        serving = steady_clock::now();
    });
    const auto limit = steady_clock::now() + std::chrono::seconds{60};
    while (!client.connected() && steady_clock::now() < limit) {
        client.run_for(std::chrono::milliseconds{1});
    }
    const auto back = steady_clock::now();
    starter.get();
    if (!client.connected()) {
        throw std::runtime_error{"away: the client did not come back within a minute"};
    }
    return std::max(0.0, seconds{back - serving}.count());
}

} // namespace

void idle(const run_options& options, report& out)
{
    colock::test::zookeeper_server server{server_options(options)};
    lone_client client{server.connect_string()};
    with_server(options, out, client);
    server.kill();
    without_server(options, out, client);

    figure back{"away", "colock", 0, 1, 1, "back after", "s", {}};
    back.rounds.push_back(seconds_to_return(server, client));
    while (int(back.rounds.size()) < std::min(options.rounds, options.full ? 5 : 3)) {
        server.kill();
        client.run_for(std::chrono::seconds{2}); // the pauses have grown
        back.rounds.push_back(seconds_to_return(server, client));
    }
    out.add(std::move(back));
}

} // namespace bench
