// `colock revoke`: asks the holders of a lock to release it.
#include <colock/diagnostics.hpp>
#include <colock/log.hpp>
#include <colock/watch.hpp>

#include "connect/awaiting.hpp"
#include "connect/duration.hpp"
#include "connect/path_argument.hpp"
#include "connect/patience.hpp"
#include "connect/run_client.hpp"
#include "look/look_at.hpp"
#include "look/words.hpp"
#include "program/exit_status.hpp"
#include "program/failure.hpp"
#include "program/program.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace colock::cli {

namespace {

namespace asio = boost::asio;

struct revoke_options {
    server_options servers;
    std::string path;
    std::string node;
    std::chrono::milliseconds wait{0};
};

// False when the node has gone before.
asio::awaitable<bool> ask_one(client& zk, seen_kind what, std::string node, std::int64_t czxid)
{
    const auto [exists_ec, found] = co_await zk.async_exists(node, no_throw);
    if (!exists_ec && (!found || (czxid != 0 && found->czxid != czxid))) {
        co_return false;
    }
    diagnostics why;
    error_code ec;
    if (what == &kinds::single_node_mutex) {
        const std::string request{revocation_request};
        const auto [set_ec, stat] =
            co_await zk.async_set(node, request, any_version, bind_diagnostics(why, no_throw));
        ec = set_ec;
    } else {
        const auto [revoke_ec] = co_await async_revoke(zk, node, bind_diagnostics(why, no_throw));
        ec = revoke_ec;
    }
    if (ec == zookeeper_errc::no_node) {
        co_return false;
    }
    if (ec) {
        throw failure_of(ec, why.message());
    }
    co_return true;
}

struct asked_node {
    std::string path;
    std::int64_t czxid = 0; // 0 when that could not be read
};

// The path of a single node is that of the next holder, too.
asio::awaitable<void> wait_until_gone(client& zk, std::vector<asked_node> nodes)
{
    for (const auto& node : nodes) {
        for (;;) {
            auto seen = co_await zk.async_watch_exists(node.path, asio::use_awaitable);
            if (!seen.value || (node.czxid != 0 && seen.value->czxid != node.czxid)) {
                break;
            }
            co_await seen.changes.async_wait(asio::use_awaitable);
        }
    }
}

std::vector<queue_entry> chosen(const seen_lock& seen, const std::string& node)
{
    const auto holders = seen.queue.holders();
    if (node.empty() && !seen.others.empty()) {
        throw failure{usage, several_words(seen)};
    }
    if (node.empty()) {
        return {holders.begin(), holders.end()};
    }
    const auto* const one = find_entry(seen, node);
    if (!one || !one->holds) {
        throw failure{not_found_here, printable(node) + " does not hold " + printable(seen.path) +
                                          "; `colock ls -l` shows who does"};
    }
    return {*one};
}

asio::awaitable<int> revoke(client& zk, const revoke_options& o)
{
    co_await catch_up(zk, o.path);
    const auto seen = co_await look_at_queue_of(zk, o.path, o.node);
    const auto path = printable(o.path);
    if (seen.unlisted) {
        throw failure{refused, "this client lacks READ on " + printable(seen.unlisted_path) +
                                   "; use --auth with an identity that may"};
    }
    if (seen.queue.holders().empty() && seen.others.empty()) {
        throw failure{not_found_here,
                      "nobody holds " + path + "; `colock ls` and `colock why` tell more"};
    }
    if (seen.what && !seen.what->takes_revocation) {
        throw failure{usage, path + " is a semaphore, and no holder listens for requests; "
                                    "`colock break --node` takes one away"};
    }
    std::vector<asked_node> nodes;
    for (const auto& e : chosen(seen, o.node)) {
        const bool asked = co_await ask_one(zk, seen.what, e.path, e.czxid);
        std::cout << (asked ? "asked " : "has released it already: ") << who(e) << ", "
                  << printable(e.path) << '\n';
        nodes.push_back({e.path, e.czxid});
    }
    std::cout << std::flush;
    if (o.wait.count() == 0) {
        co_return success;
    }
    const auto first = co_await first_of(wait_until_gone(zk, nodes), pause(o.wait));
    if (first.index() == 1) {
        throw failure{timed_out, "not all have released " + path + " after " + shown(o.wait) +
                                     "; `colock why` tells who still has it, `colock break` takes "
                                     "it away"};
    }
    std::cout << "all have released it\n" << std::flush;
    co_return success;
}

} // namespace

void add_revoke(program& p)
{
    auto& c = p.add(
        {.name = "revoke",
         .synopsis = "[options] PATH",
         .summary = "ask the holders of a lock to release it",
         .description =
             "Asks all that hold the lock at PATH, and says whom. What comes of it is up to them: "
             "programs that use\ncolock or Curator can listen for it. The request takes the place "
             "of what they have written into\ntheir nodes, until colock restores it. Permits of a "
             "semaphore cannot be asked for.\n`colock break` does not ask.",
         .examples = {{"colock revoke /locks/backup", "ask, and go on at once"},
                      {"colock revoke --wait 1m /locks/backup",
                       "ask, and wait for a minute at most until they have released it"}},
         .statuses = {{"1", "Nobody holds the lock."},
                      {"124", "The time of `--wait` has passed, and not all have released it."}}});
    const auto o = std::make_shared<revoke_options>();
    add_path(*c.options, o->path, "the path of a lock")->required();
    c.options->add_option("--node", o->node, "this holder alone: its name, or its path")
        ->type_name("NODE");
    add_duration(*c.options, "--wait", o->wait, "wait until they have released it, for that long");
    add_server_options(*c.options, o->servers);
    c.run = [o] {
        const auto options = to_client_options(o->servers);
        return run_client(options,
                          [&](client& zk) { return while_connected(zk, options, revoke(zk, *o)); });
    };
}

} // namespace colock::cli
