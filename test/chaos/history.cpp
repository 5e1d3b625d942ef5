#include "history.hpp"

#include <colock/fencing_token.hpp>

#include "look/server_files.hpp"
#include "program/failure.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

namespace chaos {

namespace {

using colock::cli::contender;
using milliseconds = std::int64_t;

struct proven_turn {
    std::string name, lock;
    std::int64_t token = 0; // the first half
    std::optional<nanoseconds> first, last;
};

std::vector<proven_turn> turns_of(const journal& j)
{
    std::map<std::uint64_t, proven_turn> turns;
    for (const auto& e : j.events) {
        auto& t = turns[e.turn];
        if (e.what == what::asked && !e.words.empty()) {
            t.name = j.process + " turn " + std::to_string(e.turn);
            t.lock = e.words[0];
        } else if (e.what == what::granted && !e.words.empty()) {
            const auto token = colock::fencing_token::parse(e.words[0]);
            t.token = token ? static_cast<std::int64_t>(token->high()) : 0;
        } else if (e.what == what::holds) {
            t.first = t.first.value_or(e.at);
            t.last = e.at;
        }
    }
    std::vector<proven_turn> all;
    for (auto& [number, t] : turns) {
        if (t.token != 0 && t.first) {
            all.push_back(std::move(t));
        }
    }
    return all;
}

// The clock of the servers, which is that of this machine, was at this time.
milliseconds wall_time(nanoseconds time)
{
    static const auto difference =
        std::chrono::nanoseconds{std::chrono::system_clock::now().time_since_epoch()}.count() -
        now();
    return (time + difference) / 1'000'000;
}

// A leader's error of a follower that has its epoch and not yet its transactions tells the first of these.
std::vector<std::int64_t> half_synchronised(const std::vector<std::string>& server_directories)
{
    std::vector<std::int64_t> found;
    for (const auto& each : server_directories) {
        std::ifstream log{each + "/server.log"};
        for (std::string line; std::getline(log, line);) {
            const auto zxid = line.find(" received 0x");
            if (line.find("is from a different epoch") != line.npos && zxid != line.npos) {
                found.push_back(std::strtoll(line.c_str() + zxid + 10, nullptr, 16));
            }
        }
    }
    return found;
}

// How a server's files tell of a turn: of the node with its token, or null.
enum class telling { agrees, is_vague, differs };

telling telling_of(const contender* c, milliseconds first, milliseconds last)
{
    using colock::cli::departure;
    // Times are whole milliseconds, and the wall clock is slewed.
    constexpr milliseconds precision = 20;
    if (c == nullptr || (c->how != departure::none && c->gone < last - precision)) {
        return telling::differs;
    }
    if (c->granted ? c->granted_before : c->how == departure::unseen) {
        return telling::is_vague; // it was granted at a time that no file tells
    }
    return c->granted && *c->granted <= first + precision ? telling::agrees : telling::differs;
}

// The first one that was lost with this token, if any of the suspected ones was.
std::optional<std::int64_t> loss_with(std::int64_t token,
                                      const std::vector<std::int64_t>& suspected)
{
    constexpr int epoch = 32;
    std::optional<std::int64_t> lost;
    for (const auto zxid : suspected) {
        if (zxid <= token && zxid >> epoch == token >> epoch) {
            lost = std::min(lost.value_or(zxid), zxid);
        }
    }
    return lost;
}

} // namespace

history_findings compare_history(const std::vector<journal>& journals,
                                 const std::vector<std::string>& server_directories)
{
    history_findings found;
    std::vector<std::pair<milliseconds, std::string>> violations; // with the end of the turn
    std::map<std::int64_t, milliseconds> created;                 // when each token was
    const auto suspected = half_synchronised(server_directories);
    std::map<std::string, std::vector<proven_turn>> by_lock;
    for (const auto& j : journals) {
        for (auto& t : turns_of(j)) {
            by_lock[t.lock].push_back(std::move(t));
        }
    }
    for (const auto& directory : server_directories) {
        for (const auto& [lock, turns] : by_lock) {
            const auto told = colock::cli::read_past({directory}, "/chaos/" + lock).told;
            std::map<std::int64_t, const contender*> by_token;
            for (const auto& c : told.contenders) {
                by_token[c.node.czxid] = &c;
                created.emplace(c.node.czxid, c.created);
            }
            for (const auto& t : turns) {
                const auto first = wall_time(*t.first), last = wall_time(*t.last);
                const auto at = by_token.find(t.token);
                const auto* c = at == by_token.end() ? nullptr : at->second;
                const bool is_in_gap = std::ranges::any_of(told.gaps, [&](const auto& gap) {
                    return gap.first <= last && first <= gap.second;
                });
                const auto tells = telling_of(c, first, last);
                if (tells == telling::agrees) {
                    ++found.agreed;
                } else if (tells == telling::is_vague || is_in_gap) {
                    ++found.in_gaps;
                } else {
                    if (const auto lost = c ? std::nullopt : loss_with(t.token, suspected)) {
                        found.lost_from = std::min(found.lost_from.value_or(*lost), *lost);
                    }
                    violations.emplace_back(
                        last,
                        t.name + " held " + lock + " from " + std::to_string(first) + " to " +
                            std::to_string(last) + " ms, and the history of " + directory +
                            (c == nullptr ? " does not know its token"
                                          : " tells " + std::to_string(c->granted.value_or(-1)) +
                                                " to " + std::to_string(c->gone)));
                }
            }
        }
    }
    auto compared_until = INT64_MAX;
    if (found.lost_from) {
        const auto lost = created.lower_bound(*found.lost_from);
        compared_until = lost == created.begin() ? 0 : std::prev(lost)->second;
    }
    for (auto& [last, text] : violations) {
        if (last < compared_until) {
            found.violations.push_back(std::move(text));
        }
    }
    return found;
}

} // namespace chaos
