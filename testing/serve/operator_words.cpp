#include "operator_words.hpp"

#include <colock/version.hpp>

#include "client_port.hpp"
#include "memory_server.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace colock::testing {

namespace {

// The version of ZooKeeper as which it behaves, and what it is.
constexpr std::string_view version =
    "3.9.3-colock-serve, in memory, for development and tests, of colock " COLOCK_VERSION_STRING;

std::string hex(std::int64_t number)
{
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
    return text;
}

std::string sum_of(std::uint64_t client_port::traffic::*what, const memory_server& s)
{
    std::uint64_t sum = 0;
    for (const auto& [number, p] : s.ports()) {
        sum += p->counted().*what;
    }
    return std::to_string(sum);
}

std::string connections(const memory_server& s)
{
    std::string text;
    for (const auto& [number, p] : s.ports()) {
        text += " /" + p->name() + "[1](queued=0,recved=" + std::to_string(p->counted().received) +
                ",sent=" + std::to_string(p->counted().sent);
        if (p->session() != 0) {
            text += ",sid=" + hex(p->session()) +
                    ",lop=NA,to=" + std::to_string(p->timeout().count()) +
                    ",lresp=" + std::to_string(p->counted().last_answer.count()) +
                    ",llat=0,minlat=0,avglat=0,maxlat=0";
        }
        text += ")\n";
    }
    return text + '\n';
}

std::string srvr(const memory_server& s)
{
    return "Zookeeper version: " + std::string{version} +
           "\nLatency min/avg/max: 0/0.0/0\nReceived: " +
           sum_of(&client_port::traffic::received, s) +
           "\nSent: " + sum_of(&client_port::traffic::sent, s) +
           "\nConnections: " + std::to_string(s.ports().size()) +
           "\nOutstanding: 0\nZxid: " + hex(s.nodes().last_zxid()) +
           "\nMode: standalone\nNode count: " + std::to_string(s.nodes().size()) + '\n';
}

std::string stat(const memory_server& s)
{
    auto text = srvr(s);
    text.insert(text.find('\n') + 1, "Clients:\n" + connections(s));
    return text;
}

std::string envi(const memory_server&)
{
    return "Environment:\nzookeeper.version=" + std::string{version} + "\nhost.name=localhost\n";
}

std::string conf(const memory_server& s)
{
    return "tickTime=" + std::to_string(s.tick().count()) +
           "\nmaxClientCnxns=" + std::to_string(s.settings().limits.connections) +
           "\nminSessionTimeout=" + std::to_string(s.settings().least_session.count()) +
           "\nmaxSessionTimeout=" + std::to_string(s.settings().most_session.count()) +
           "\nserverId=0\n";
}

std::string dump(const memory_server& s)
{
    const auto& sessions = s.nodes().sessions();
    std::string text =
        "SessionTracker dump:\nSession Sets (1)/(" + std::to_string(sessions.size()) + "):\n";
    for (const auto& [id, timeout] : sessions) {
        text += '\t' + hex(id) + '\t' + std::to_string(timeout.count()) + "ms\n";
    }
    const auto& all = s.nodes().ephemerals();
    text +=
        "ephemeral nodes dump:\nSessions with Ephemerals (" + std::to_string(all.size()) + "):\n";
    for (const auto& [id, paths] : all) {
        text += hex(id) + ":\n";
        for (const auto& path : paths) {
            text += '\t' + path + '\n';
        }
    }
    return text;
}

std::string mntr(const memory_server& s)
{
    return "zk_version\t" + std::string{version} + "\nzk_server_state\tstandalone" +
           "\nzk_packets_received\t" + sum_of(&client_port::traffic::received, s) +
           "\nzk_packets_sent\t" + sum_of(&client_port::traffic::sent, s) +
           "\nzk_num_alive_connections\t" + std::to_string(s.ports().size()) +
           "\nzk_outstanding_requests\t0\nzk_znode_count\t" + std::to_string(s.nodes().size()) +
           "\nzk_watch_count\t" + std::to_string(s.watches()) + "\nzk_approximate_data_size\t" +
           std::to_string(s.nodes().bytes()) + "\nzk_global_sessions\t" +
           std::to_string(s.nodes().sessions().size()) + '\n';
}

std::string ruok(const memory_server&)
{
    return "imok";
}

std::string isro(const memory_server&)
{
    return "rw";
}

struct word {
    std::string_view letters;
    std::string (*answer)(const memory_server&);
};

constexpr std::array words{word{"ruok", ruok}, word{"srvr", srvr}, word{"stat", stat},
                           word{"envi", envi}, word{"conf", conf}, word{"cons", connections},
                           word{"dump", dump}, word{"mntr", mntr}, word{"isro", isro}};
constexpr std::array<std::string_view, 10> refused{"wchs", "wchc", "wchp", "crst", "srst",
                                                   "dirs", "hash", "gtmk", "stmk", "lead"};

} // namespace

std::optional<std::string> answer_to(std::string_view asked, const memory_server& server)
{
    if (const auto at = std::ranges::find(words, asked, &word::letters); at != words.end()) {
        return at->answer(server);
    }
    if (std::ranges::find(refused, asked) != refused.end()) {
        return std::string{asked} + " is not executed because it is not in the whitelist.";
    }
    return std::nullopt;
}

} // namespace colock::testing
