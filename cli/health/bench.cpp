// colock bench: what locks cost on the user's own servers.
#include <colock/client.hpp>
#include <colock/diagnostics.hpp>
#include <colock/log.hpp>

#include "connect/awaiting.hpp"
#include "connect/path_argument.hpp"
#include "connect/patience.hpp"
#include "connect/run_client.hpp"
#include "connect/server_options.hpp"
#include "connect/until_signal.hpp"
#include "health/bench_run.hpp"
#include "health/scratch.hpp"
#include "program/failure.hpp"
#include "program/program.hpp"
#include "program/wrap.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <cmath>
#include <exception>
#include <iostream>
#include <memory>
#include <utility>

namespace colock::cli {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

struct bench_options {
    server_options servers;
    double seconds = 60;
    std::string path;
    bool json = false;
};

using client_list = std::vector<std::unique_ptr<client>>;

// `ours`: whether the node may be there because of us, whatever the answer is.
asio::awaitable<void> make_place(client& zk, std::string path, bool& ours)
{
    diagnostics unreadable;
    const auto [unknown, there] =
        co_await zk.async_exists(path, bind_diagnostics(unreadable, no_throw));
    if (unknown && unknown != zookeeper_errc::no_auth) {
        throw failure_of(unknown, unreadable.message());
    }
    if (!unknown && there) {
        throw failure{refused, path + " exists; name a path of --path that does not, because all "
                                      "below it is removed at the end"};
    }
    diagnostics why;
    const auto token = bind_diagnostics(why, no_throw);
    ours = true;
    const auto [ec, made] =
        co_await zk.async_create(path, std::string{}, create_mode::container, token);
    ours = !ec || ec == asio::error::operation_aborted || outcome_unknown(ec);
    if (ec == zookeeper_errc::no_node) {
        throw failure{refused, parent_of(path) + " is missing; create it, or name another --path"};
    }
    if (ec) {
        throw failure_of(ec, why.message());
    }
}

json::object described(const measured& m)
{
    json::object one;
    one["name"] = m.name;
    one["samples"] = m.samples;
    if (m.median_ms > 0) {
        one["median_ms"] = m.median_ms;
        one["p99_ms"] = m.p99_ms;
    }
    if (m.per_second > 0) {
        one["per_second"] = m.per_second;
    }
    one["meaning"] = m.meaning;
    return one;
}

asio::awaitable<int> measure(const client_list& clients, const bench_options& o,
                             const std::string& path, bool& ours)
{
    co_await make_place(*clients.front(), path, ours);
    co_await clients.front()->async_create(child_of(path, "alive"), std::string{},
                                           create_mode::ephemeral, asio::use_awaitable);
    json::array results;
    if (!o.json) {
        std::cout << "about " << std::lround(o.seconds) << " s, below " << printable(path)
                  << ", which is removed at the end" << std::endl;
    }
    const std::function<void(const measured&)> report = [&](const measured& m) {
        if (o.json) {
            results.push_back(described(m));
        } else {
            std::cout << '\n'
                      << m.title << ": " << m.figure << '\n'
                      << wrapped(m.meaning, 4) << std::flush;
        }
    };
    const std::chrono::milliseconds time{std::llround(o.seconds * 1000)};
    co_await run_bench(clients, path, time, report);
    if (o.json) {
        json::object whole;
        whole["results"] = std::move(results);
        std::cout << json::serialize(whole) << std::endl;
    }
    co_return success;
}

asio::awaitable<void> close_all(const client_list& clients)
{
    for (const auto& zk : clients) {
        if (zk != clients.front()) {
            co_await zk->async_close(no_throw);
        }
    }
}

asio::awaitable<int> bench(const client_options& options, const bench_options& o)
{
    const auto executor = co_await asio::this_coro::executor;
    client_list clients;
    for (std::size_t i = 0; i < bench_clients; ++i) {
        clients.push_back(std::make_unique<client>(executor, options));
        co_await connect(*clients.back());
    }
    auto path = o.path;
    if (path.empty()) {
        path = child_of("/", unique_name("colock-bench-"));
    }
    std::exception_ptr failed;
    bool ours = false;
    try {
        auto body = measure(clients, o, path, ours);
        co_await while_connected(*clients.front(), options, std::move(body));
    } catch (const std::exception&) {
        failed = std::current_exception();
    }
    co_await keep_on();          // also from a signal that comes with the last line
    co_await close_all(clients); // and with their sessions what they have in queues
    if (ours) {
        co_await remove_scratch(*clients.front(), path);
    }
    co_await clients.front()->async_close(no_throw);
    if (failed) {
        std::rethrow_exception(failed);
    }
    co_return success;
}

} // namespace

void add_bench(program& p)
{
    auto& c = p.add(
        {.name = "bench",
         .synopsis = "[options]",
         .summary = "measure what locks cost on these servers",
         .description =
             "Measures for about a minute, with eight sessions: the round trip of a read and of a "
             "write; how long it takes to lock and unlock when nobody else is there; how often a "
             "lock goes from client to client, among two and among eight; and how often waiters of "
             "one client hand it on in memory. It says what each figure means.\n\n"
             "It makes a node for itself, and removes it with all below, also when it is "
             "interrupted; when it is killed, the servers remove it some minutes later. It keeps "
             "the "
             "servers busy: their other clients will notice.",
         .examples = {{"colock bench --servers a,b,c", "Measure three servers, for a minute."},
                      {"colock bench --seconds 10 --json", "A first look, for a program."}}});
    const auto o = std::make_shared<bench_options>();
    c.options->add_option("--seconds", o->seconds, "for how long")
        ->type_name("N")
        ->capture_default_str()
        ->check([](const std::string& text) {
            char* end = nullptr;
            const auto n = std::strtod(text.c_str(), &end);
            return *end == '\0' && n >= 0.5 && n <= 86'400
                       ? std::string{}
                       : '"' + text + "\" is no number from 0.5 to 86400";
        });
    c.options
        ->add_option("--path", o->path,
                     "the node to make, which must not exist; /colock-bench-... unless told")
        ->transform(without_slashes_at_end)
        ->type_name("PATH");
    c.options->add_flag("--json", o->json, "print one JSON object");
    add_server_options(*c.options, o->servers);
    c.run = [o] {
        const auto options = to_client_options(o->servers);
        return run_until_signal([&] { return bench(options, *o); });
    };
}

} // namespace colock::cli
