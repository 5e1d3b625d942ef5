#include "health/server_look.hpp"

#include <colock/client.hpp>
#include <colock/diagnostics.hpp>
#include <colock/log.hpp>

#include "connect/awaiting.hpp"
#include "connect/duration.hpp"
#include "program/failure.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string_view>

namespace colock::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

// How long one server may take for one thing.
constexpr milliseconds server_patience = 2s;

// A key server may take its time, too.
constexpr milliseconds sasl_patience = 5s;

constexpr milliseconds long_session = 24h;

struct granted {
    error_code error;
    std::string why;
    milliseconds timeout{0};
    milliseconds took{0};
};

// A session that ends at once.
asio::awaitable<granted> try_session(const client_options& options, findings& found)
{
    const auto executor = co_await asio::this_coro::executor;
    client one{executor, options};
    granted g;
    diagnostics why;
    const auto begin = std::chrono::steady_clock::now();
    const auto token = bind_diagnostics(why, no_throw);
    const auto [ec] = co_await one.async_connect(token);
    g.took = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
    g.error = ec;
    g.why = in_own_words(why.message());
    if (!ec) {
        g.timeout = one.session_timeout();
        ++found.sessions;
        co_await one.async_close(no_throw);
    }
    found.requests += one.stats().requests;
    if (ec == asio::error::operation_aborted) {
        throw boost::system::system_error{ec};
    }
    co_return g;
}

std::string_view line_behind(std::string_view answer, std::string_view key)
{
    const auto at = answer.find(key);
    if (at == answer.npos) {
        return {};
    }
    answer.remove_prefix(at + key.size());
    return answer.substr(0, answer.find('\n'));
}

asio::awaitable<std::string> ask(const client_options& options, endpoint at, std::string word)
{
    try {
        auto answer = co_await ask_as_client(options, at, word, server_patience);
        co_return is_refusal(answer) ? std::string{} : answer;
    } catch (const boost::system::system_error& e) {
        if (e.code() == asio::error::operation_aborted) {
            throw;
        }
        co_return std::string{};
    }
}

asio::awaitable<void> ask_what_it_is(server_facts& server, const client_options& options,
                                     findings& found)
{
    const auto srvr = co_await ask(options, server.at, "srvr");
    ++found.requests;
    server.mode = line_behind(srvr, "Mode: ");
    const auto version = line_behind(srvr, "Zookeeper version: ");
    if (is_colock_serve(srvr)) {
        found.add(severity::warning, "server", words_on_colock_serve(server.at));
    }
    server.version = version.substr(0, version.find_first_of("-, "));

    const auto conf = co_await ask(options, server.at, "conf");
    ++found.requests;
    const auto text = line_behind(conf, "tickTime=");
    long ticks = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), ticks).ec == std::errc{} &&
        ticks > 0 && ticks <= std::numeric_limits<std::int32_t>::max()) {
        server.tick = milliseconds{ticks};
        server.tick_is_told = true;
    }
}

// What a server says of itself that closes connections of clients; empty when that is not known.
asio::awaitable<std::string> why_it_refuses(endpoint at)
{
    std::string answer;
    try {
        answer = co_await ask_server(at.host, at.port, "srvr", server_patience);
    } catch (const boost::system::system_error& e) {
        if (e.code() == asio::error::operation_aborted) {
            throw;
        }
        if (e.code() != asio::error::connection_reset && e.code() != asio::error::broken_pipe) {
            co_return std::string{};
        }
    }
    if (answer.empty()) {
        co_return "it closes each connection from this machine at once; so it does when there are "
                  "too many: see maxClientCnxns in its zoo.cfg";
    }
    if (answer.find("not currently serving requests") != answer.npos) {
        co_return "it runs, and has no quorum; see to the other servers";
    }
    const auto mode = line_behind(answer, "Mode: ");
    if (mode == "read-only") {
        co_return "it is read-only: it has lost its quorum; see to the other servers";
    }
    if (!mode.empty()) {
        co_return "it runs, and refuses new sessions; see whether it throttles them "
                  "(zookeeper.connection_throttle_tokens), or its log";
    }
    co_return std::string{};
}

// A client gives a server up that does not answer within the session that it asks for, so this one asks for ever less.
asio::awaitable<void> find_shortest(server_facts& server, const client_options& chosen,
                                    findings& found)
{
    auto options = chosen;
    for (const auto asked : {1000ms, 200ms, 40ms}) {
        options.session_timeout = asked;
        const auto short_one = co_await try_session(options, found);
        if (short_one.error) {
            server.shortest = {};
            co_return;
        }
        server.shortest = short_one.timeout;
        if (short_one.timeout > asked) {
            co_return;
        }
    }
}

asio::awaitable<void> look_at_server(server_facts& server, const client_options& chosen,
                                     findings& found)
{
    auto options = chosen;
    options.session_timeout = long_session;
    const auto longest = co_await try_session(options, found);
    if (longest.error) {
        std::string why; // see look_at_large_sessions()
        if (!options.tls) {
            why = co_await why_it_refuses(server.at);
        }
        found.add(severity::error, "server",
                  shown(server.at) + " does not answer: " + longest.why + "; " +
                      (why.empty() ? "start it, or correct --servers" : why));
        co_return;
    }
    server.answers = true;
    server.longest = longest.timeout;
    co_await find_shortest(server, options, found);
    co_await ask_what_it_is(server, options, found);
    // Servers derive the limits from their tick unless they are told otherwise.
    if (!server.tick && server.longest == 10 * server.shortest) {
        server.tick = server.shortest / 2;
    }
    found.good("server", shown(server.at) + " answers in " + shown(longest.took) +
                             (server.version.empty() ? "" : ", ZooKeeper " + server.version) +
                             (server.mode.empty() ? "" : ", " + server.mode));
}

std::string advice_on(const sasl_options& sasl)
{
    return sasl.mechanism == "GSSAPI"
               ? "see that there is a valid ticket (`klist`; `kinit` gets one) or a keytab in "
                 "KRB5_CLIENT_KTNAME, that --servers names each server as its principal "
                 "zookeeper/NAME does, that the key server answers, and that Krb5LoginModule is "
                 "in the servers' JAAS file"
               : "see that DigestLoginModule with this user and password is in the servers' JAAS "
                 "file, and compare the line \"sasl " +
                     printable(sasl.user, 40) + ":...\" of --auth or COLOCK_AUTH";
}

// It answers clients without an identity, so what fails is to show ours.
asio::awaitable<void> show_identity(server_facts& server, const client_options& one,
                                    findings& found)
{
    const auto known = co_await try_session(one, found);
    server.takes_us = !known.error;
    if (known.error) {
        found.add(severity::error, "connection",
                  shown(server.at) + " does not learn who we are: " + known.why + "; " +
                      advice_on(one.sasl));
    }
}

} // namespace

asio::awaitable<std::vector<server_facts>> look_at_servers(const client_options& options,
                                                           findings& found)
{
    std::vector<server_facts> all;
    for (const auto& at : endpoints_of(options.hosts)) {
        all.push_back({.at = at});
        auto one = options;
        one.hosts = shown(at);
        one.chroot.clear();
        one.credentials.clear();
        one.sasl = {};
        one.connect_timeout = std::min(options.connect_timeout, server_patience);
        co_await look_at_server(all.back(), one, found);
        if (all.back().answers && !options.sasl.mechanism.empty()) {
            one.sasl = options.sasl;
            one.connect_timeout = std::min(options.connect_timeout, sasl_patience);
            co_await show_identity(all.back(), one, found);
        }
    }
    co_return all;
}

void judge_roles(const std::vector<server_facts>& servers, findings& found)
{
    std::size_t leaders = 0;
    std::size_t voters = 0;
    std::size_t standalone = 0;
    std::size_t silent = 0;
    std::string leader;
    for (const auto& s : servers) {
        if (!s.answers) {
            continue;
        }
        silent += s.mode.empty();
        standalone += s.mode == "standalone";
        voters += s.mode == "leader" || s.mode == "follower";
        if (s.mode == "leader") {
            ++leaders;
            leader = shown(s.at);
        }
    }
    if (leaders > 1 || standalone > 1 || (standalone > 0 && voters > 0)) {
        found.add(
            severity::error, "leader",
            "these servers do not belong together, so two clients can hold one lock; name the "
            "servers of one ensemble in --servers");
    } else if (standalone == 1) {
        found.add(severity::warning, "leader",
                  "one server alone: there are no locks while it is down; three servers outlast "
                  "the loss of one");
    } else if (silent > 0 && (leaders == 0 || voters <= 2)) {
        found.add(severity::unknown, "leader",
                  "a server does not say whether it leads; allow `srvr` in "
                  "4lw.commands.whitelist");
    } else if (leaders == 0) {
        found.add(severity::warning, "leader",
                  "none of these servers leads; name all servers in --servers, so that clients "
                  "find those that are up");
    } else if (voters == 1) {
        found.add(severity::warning, "leader",
                  leader + " leads, and none of its followers has answered; name all servers in "
                           "--servers, so that clients find those that are up");
    } else if (voters == 2) {
        found.add(severity::warning, "leader",
                  leader + " leads one follower: no more may fail; name all servers in --servers, "
                           "or add one");
    } else {
        found.good("leader", leader + " leads " + std::to_string(voters - 1) + " followers");
    }
}

namespace {

std::string command_for_tick(milliseconds tick)
{
    return "export COLOCK_TICK=" + std::to_string(tick.count()) + "ms";
}

void judge_tick(const std::vector<server_facts>& servers, milliseconds ours, findings& found)
{
    milliseconds largest{0};
    bool all_known = true;
    bool told = true;
    bool observers = false;
    for (const auto& s : servers) {
        if (s.answers) {
            all_known = all_known && s.tick;
            told = told && s.tick_is_told;
            largest = std::max(largest, s.tick.value_or(0ms));
            observers = observers || s.mode == "observer";
        }
    }
    const auto option = "--tick " + std::to_string(largest.count()) + "ms";
    if (largest > ours) {
        found.add(severity::error, "tick",
                  "tickTime is " + shown(largest) + ", and clients are told " + shown(ours) +
                      ": a holder may be notified of its loss too late; set " + option +
                      ", and the same in programs",
                  command_for_tick(largest));
    } else if (!all_known) {
        found.add(severity::unknown, "tick",
                  "tickTime cannot be told from the limits of sessions, which are set by hand; "
                  "compare the servers' configuration with --tick " +
                      std::to_string(ours.count()) +
                      "ms, or allow `conf` in "
                      "4lw.commands.whitelist");
    } else if (observers && ours < 2 * largest) {
        found.add(severity::warning, "tick",
                  "tickTime is " + shown(largest) +
                      ", and there is an observer: with observerMasterPort clients have to be told "
                      "twice that",
                  command_for_tick(2 * largest));
    } else {
        found.good("tick",
                   "tickTime is " + shown(largest) + (told ? "" : ", by the limits of sessions") +
                       (ours > largest
                            ? "; clients are told " + shown(ours) +
                                  ", which is safe, and ends safe_until earlier than need be"
                            : ", as clients are told"));
    }
}

void judge_limits(const std::vector<server_facts>& servers, milliseconds asked, findings& found)
{
    milliseconds shortest = milliseconds::max();
    milliseconds longest = milliseconds::max();
    milliseconds longest_of_all{0};
    milliseconds shortest_of_all{0};
    for (const auto& s : servers) {
        if (s.answers) {
            if (s.shortest > 0ms) { // else it is not known
                shortest = std::min(shortest, s.shortest);
                shortest_of_all = std::max(shortest_of_all, s.shortest);
            }
            longest = std::min(longest, s.longest);
            longest_of_all = std::max(longest_of_all, s.longest);
        }
    }
    const auto from = shortest_of_all > 0ms ? " from " + shown(shortest_of_all) : std::string{};
    const auto range = "sessions last" + from + " up to " + shown(longest);
    if (longest != longest_of_all && asked > longest) {
        found.add(
            severity::error, "session",
            "maxSessionTimeout differs among the servers, and " + shown(asked) +
                " is above the least, " + shown(longest) +
                ": a holder may be notified of its loss too late; set it alike, or set a shorter "
                "--session-timeout");
    } else if (longest != longest_of_all || shortest < shortest_of_all) {
        found.add(severity::warning, "session",
                  range + ", and the limits differ among the servers; set minSessionTimeout and "
                          "maxSessionTimeout alike");
    } else if (asked > longest) {
        found.add(severity::warning, "session",
                  range + ": of " + shown(asked) + " the servers grant " + shown(longest) +
                      "; raise maxSessionTimeout if locks have to outlast a longer silence");
    } else if (asked < shortest_of_all) {
        found.add(severity::warning, "session",
                  range + ": of " + shown(asked) + " the servers make " + shown(shortest_of_all) +
                      "; so long a lock outlives a holder whose machine dies");
    } else {
        found.good("session",
                   range + "; " + shown(asked) +
                       " is granted as it was asked, and so long a lock outlives a holder whose "
                       "machine dies");
    }
}

} // namespace

void judge_sessions(const std::vector<server_facts>& servers, const client_options& options,
                    findings& found)
{
    judge_tick(servers, options.tick, found);
    judge_limits(servers, options.session_timeout, found);
}

asio::awaitable<void> look_at_large_sessions(const std::vector<server_facts>& servers,
                                             const client_options& options, findings& found)
{
    constexpr std::size_t readable =
        std::size_t{2} * 0xfffff; // of one transaction, by servers' default
    for (const auto& server : servers) {
        std::string dump; // GCC 12 destroys what a conditional expression awaits twice
        if (server.answers) {
            dump = co_await ask(options, server.at, "dump");
            ++found.requests;
        }
        if (dump.empty()) {
            continue;
        }
        for (const auto& [session, paths] : nodes_in_dump(dump)) { // of the whole ensemble
            std::size_t bytes = 0;
            for (const auto& path : paths) {
                bytes += 4 + path.size(); // as servers write it
            }
            if (bytes >= readable / 2) {
                found.add(severity::warning, "nodes",
                          "session " + session_words(session) + " has " +
                              std::to_string(paths.size()) + " ephemeral nodes with paths of " +
                              std::to_string(bytes) + " bytes: with more than about " +
                              std::to_string(readable) +
                              " its end takes the servers down, and none starts again (unless "
                              "jute.maxbuffer was raised); spread its locks over several clients");
            }
        }
        co_return;
    }
}

} // namespace colock::cli
