// colock doctor: whether servers, network and permissions suit locks.
#include <colock/client.hpp>
#include <colock/diagnostics.hpp>

#include "connect/awaiting.hpp"
#include "connect/duration.hpp"
#include "connect/four_letter_word.hpp"
#include "connect/path_argument.hpp"
#include "connect/patience.hpp"
#include "connect/server_options.hpp"
#include "connect/session_guard.hpp"
#include "connect/until_signal.hpp"
#include "health/access_look.hpp"
#include "health/certificate_look.hpp"
#include "health/findings.hpp"
#include "health/leftover_look.hpp"
#include "health/server_look.hpp"
#include "health/session_look.hpp"
#include "program/failure.hpp"
#include "program/program.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace colock::cli {

namespace asio = boost::asio;

namespace {

struct doctor_options {
    server_options servers;
    std::vector<std::string> paths;
    std::chrono::milliseconds old = std::chrono::hours{24};
    bool json = false;
    std::string typed; // the options of the servers, as a command needs them
};

// Those that do not stand in a variable, which a shell still has when somebody pastes a command there.
std::string typed_options(const CLI::App& of)
{
    server_options ignored;
    CLI::App servers;
    add_server_options(servers, ignored);
    std::string all;
    for (const auto* const each : servers.get_options()) {
        const auto* const option = of.get_option_no_throw(each->get_name());
        if (!option || option->count() == 0) {
            continue;
        }
        const auto value = option->as<std::string>();
        const char* const variable = std::getenv(option->get_envname().c_str());
        if (!variable || value != variable) {
            const bool is_flag = option->get_expected_min() == 0;
            all += ' ' + option->get_name() +
                   (!is_flag             ? ' ' + shell_word(value)
                    : option->as<bool>() ? ""
                                         : "=false");
        }
    }
    return all;
}

void judge_granted(const client& zk, const client_options& options, findings& found)
{
    found.good("connection", "a session of " + shown(zk.session_timeout()) +
                                 (options.chroot.empty() ? "" : " in " + options.chroot) +
                                 (options.credentials.empty() && options.sasl.mechanism.empty()
                                      ? ""
                                      : "; the servers take our identity"));
}

asio::awaitable<void> refuse_impossible_path(client& zk, std::string path)
{
    diagnostics why;
    const auto [ec, there] = co_await zk.async_exists(path, bind_diagnostics(why, no_throw));
    if (ec == errc::invalid_path) {
        throw failure_of(ec, why.message());
    }
}

// Servers take any client's connection, and refuse its requests when they want an identity.
asio::awaitable<bool> is_served(client& zk, findings& found)
{
    diagnostics why;
    const auto [ec, root] = co_await zk.async_exists("/", bind_diagnostics(why, no_throw));
    if (ec == asio::error::operation_aborted) {
        throw boost::system::system_error{ec};
    }
    if (ec && ec != zookeeper_errc::no_auth) {
        found.add(severity::error, "connection", failure_of(ec, why.message()).what());
    }
    co_return !ec || ec == zookeeper_errc::no_auth;
}

asio::awaitable<int> look_inside(client& zk, const client_options& options, const doctor_options& o,
                                 findings& found)
{
    const std::string place = o.paths.empty() ? "/" : o.paths.front();
    if (!co_await is_served(zk, found)) { // first, for a refusal ends the connection
        co_return not_found_here;
    }
    for (const auto& path : o.paths) {
        co_await refuse_impossible_path(zk, path);
    }
    judge_granted(zk, options, found);
    co_await look_at_session(zk, place, found);
    if (o.paths.empty()) {
        found.add(severity::unknown, "access",
                  "name the PATH of your locks to have permissions and leftovers looked at");
    }
    for (const auto& path : o.paths) {
        co_await look_at_access(zk, path, found);
        co_await look_for_leftovers(zk, path, o.old, found);
    }
    co_return success;
}

// The node of the chroot, and those above it.
std::string commands_for_chroot(const client_options& options, const findings& found)
{
    std::string all;
    if (found.plain_servers.empty()) {
        return all;
    }
    const auto hosts = shell_word(options.hosts);
    for (std::size_t end = 0; end != options.chroot.npos;) {
        end = options.chroot.find('/', end + 1);
        all += (all.empty() ? "" : "\n") + ("zkCli.sh -server " + hosts) + " create " +
               shell_word(options.chroot.substr(0, end));
    }
    return all;
}

// `fault`: why there is none.
void judge_guard(const client& zk, const client_options& options, const std::string& fault,
                 findings& found)
{
    const auto time = shown(zk.session_timeout());
    if (!options.sasl.mechanism.empty()) {
        found.good("guard", "with --sasl there is no session guard: a lock is free " + time +
                                " after its holder was killed");
    } else if (!zk.stats().session_guarded) {
        found.add(severity::warning, "guard",
                  (fault.empty() ? "no session guard" : fault) + ": a lock is free " + time +
                      " after its holder was killed");
    } else {
        found.good("guard", "a session guard passes the locks of a killed process on at once");
    }
}

asio::awaitable<void> look_by_client(const client_options& options, const doctor_options& o,
                                     findings& found)
{
    const auto executor = co_await asio::this_coro::executor;
    std::string no_guard;
    const warn note_guard = [&](const std::string& fault) { no_guard = fault; };
    client zk{executor, guarded(options, -1, note_guard)};
    diagnostics why;
    const auto token = bind_diagnostics(why, no_throw);
    const auto [ec] = co_await zk.async_connect(token);
    if (ec == asio::error::operation_aborted) {
        throw boost::system::system_error{ec};
    }
    if (ec) {
        found.add(severity::error, "connection", failure_of(ec, why.message()).what(),
                  ec == errc::no_chroot ? commands_for_chroot(options, found) : std::string{});
        co_return;
    }
    ++found.sessions;
    std::exception_ptr failed;
    const auto stopped = [&](const char* how, const failure& why_stopped) {
        found.add(severity::error, "connection",
                  std::string{how} + "not everything was looked at: " + why_stopped.what());
    };
    try {
        co_await while_connected(zk, options, look_inside(zk, options, o, found));
        judge_guard(zk, options, no_guard, found); // one that cannot work has ended meanwhile
    } catch (const failure& e) {
        if (e.status() == usage) {
            failed = std::current_exception();
        } else {
            stopped("lost, and ", e);
        }
    } catch (const boost::system::system_error& e) {
        if (e.code() == asio::error::operation_aborted) {
            failed = std::current_exception();
        } else { // a write that was under way, or what the servers refuse
            stopped(e.code() == condition::outcome_unknown ? "lost, and " : "",
                    failure_of(e.code(), e.what()));
        }
    }
    co_await keep_on();
    co_await zk.async_close(no_throw);
    found.requests += zk.stats().requests;
    if (failed) {
        std::rethrow_exception(failed);
    }
}

asio::awaitable<int> examine_servers(const client_options& options, const doctor_options& o)
{
    findings found{!o.json};
    found.options_of_servers = o.typed;
    found.shows_identity = shows_identity(options);
    if (!found.shows_identity) {
        found.plain_servers = shell_word(o.servers.servers);
    }
    if (options.tls) {
        co_await look_at_certificates(options, found);
    }
    const auto servers = co_await look_at_servers(options, found);
    if (std::ranges::any_of(servers, &server_facts::answers)) {
        judge_roles(servers, found);
        judge_sessions(servers, options, found);
        co_await look_at_large_sessions(servers, options, found);
        if (std::ranges::any_of(servers, [](const auto& s) { return s.answers && s.takes_us; })) {
            co_await look_by_client(options, o, found);
        }
    }
    std::cout << (o.json ? found.json() : found.summary()) << std::endl;
    co_return found.count(severity::error) == 0 ? success : not_found_here;
}

// What cannot be right for any server, before any is asked.
void check(const doctor_options& o)
{
    for (const auto& path : o.paths) {
        if (!path.starts_with('/') || path.find("//") != path.npos) {
            throw failure{usage, "\"" + path + "\" is no path; write it like /locks/orders"};
        }
    }
}

} // namespace

void add_doctor(program& p)
{
    auto& c = p.add(
        {.name = "doctor",
         .synopsis = "[options] [PATH...]",
         .summary = "look whether servers, network and permissions suit locks",
         .description =
             "Asks each server by itself, and all together, and prints a line for each finding: "
             "`ok`, `warning`, `error`, or `unknown` where it was not told. Each says what was "
             "found, and what to do; where a command does it, that follows in a line of its "
             "own.\n\n"
             "It looks whether each server answers, and who leads; how long requests take; which "
             "sessions are granted, and whether `--tick` fits; whether a session has so many nodes "
             "that its end takes the servers down, if they answer `dump`; whether there are "
             "containers; at certificates; at clocks; whether a session guard can be started. With "
             "PATH also at who may disturb the locks "
             "there, and at nodes that look left over: contenders without a session, old ones, "
             "empty directories.\n\n"
             "It needs a few hundred requests, and says how many they were. The nodes that it "
             "makes it removes, also when it is interrupted; when it is killed, the servers do.",
         .examples = {{"colock doctor", "Look at the server of this machine."},
                      {"colock doctor --servers a,b,c --auth ~/.colock /locks/orders",
                       "Look at three servers, and at who may use the locks below /locks/orders."},
                      {"colock doctor --json | jq '.findings[] | select(.severity == \"error\")'",
                       "Errors only, for a program."}},
         .statuses = {{"0", "There is no error; there may be warnings."},
                      {"1", "There is an error, or no server answers."},
                      {"121", {}},
                      {"122", {}}}});
    const auto o = std::make_shared<doctor_options>();
    add_path(*c.options, o->paths, "where the locks are: a lock, or what is above several");
    add_duration(*c.options, "--old", o->old, "from which age on a node in a queue looks left over")
        ->default_str("24h");
    c.options->add_flag("--json", o->json, "print one JSON object");
    add_server_options(*c.options, o->servers);
    c.run = [o, &options_here = *c.options] {
        check(*o);
        o->typed = typed_options(options_here);
        const auto options = to_client_options(o->servers);
        if (endpoints_of(options.hosts).empty()) {
            throw failure{usage, "--servers names no server; write \"host:port,host:port/chroot\""};
        }
        return run_until_signal([&] { return examine_servers(options, *o); });
    };
}

} // namespace colock::cli
