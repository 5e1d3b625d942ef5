#include "judge.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

namespace soak {

namespace {

std::string milliseconds(nanoseconds time)
{
    std::ostringstream text;
    text << static_cast<double>(time) / 1e6 << " ms";
    return text.str();
}

bool overlaps(const interval& a, nanoseconds from, nanoseconds to)
{
    return a.from <= to && a.to >= from;
}

class judgement {
public:
    judgement(const history& h, const limits& l) : history_{h}, limits_{l}
    {
        for (const auto& p : h.processes) {
            by_name_[p.name] = &p;
            for (const auto& t : p.turns) {
                turns_[t.shard].push_back({&p, &t});
                ++found_.turns;
            }
        }
    }

    findings carry_out() &&
    {
        found_.writes = history_.writes.size();
        look_at_writes();
        for (auto& [shard, turns] : turns_) {
            std::ranges::sort(turns, {}, [](const owned& o) { return o.of_turn->began; });
            for (std::size_t i = 0; i != turns.size(); ++i) {
                look_at_turn(turns[i], i + 1 == turns.size() ? nullptr : &turns[i + 1]);
            }
        }
        look_at_end();
        for (const auto& [name, r] : recovering_) {
            found_.recoveries[r.alone].push_back(r.time);
        }
        return std::move(found_);
    }

private:
    struct owned {
        const process* by;
        const turn* of_turn;
    };
    struct recovery {
        nanoseconds time = 0;
        bool alone = true;
    };

    void violation(const std::string& text) { found_.violations.push_back(text); }

    // ---- before and after the fence

    void look_at_writes()
    {
        std::map<std::size_t, std::string> greatest;
        std::map<std::pair<std::size_t, std::string>, std::string> owners;
        for (const auto& w : history_.writes) {
            const auto who =
                w.process + ", shard " + std::to_string(w.shard) + ", token " + w.token;
            if (owners.emplace(std::pair{w.shard, w.token}, w.process).first->second != w.process) {
                violation(who + ": another process has the same token");
            }
            const auto writer = by_name_.find(w.process);
            const bool was_stopped =
                writer != by_name_.end() &&
                std::ranges::any_of(writer->second->stops, [&](const interval& stop) {
                    return overlaps(stop, w.looked, w.at);
                });
            auto& seen = greatest[w.shard];
            const bool overtaken = w.token < seen;
            if (w.at > w.bound && !was_stopped) {
                violation(who + ": was not stopped, and wrote " + milliseconds(w.at - w.bound) +
                          " after its bound");
            } else if (overtaken && !was_stopped) {
                violation(who + ": was not stopped, and wrote after the next owner");
            }
            if (w.accepted == overtaken) {
                violation(who + ": the fence has " + (overtaken ? "accepted" : "refused") + " it");
            }
            found_.late += w.at > w.bound ? 1 : 0;
            if (!w.accepted) {
                found_.refused.push_back(w);
            }
            seen = std::max(seen, w.token);
        }
    }

    // ---- who owned a shard after whom

    // The stop in which it lost the shard, if one did that: what was lost is known when the process goes on.
    const interval* stop_of(const owned& o, nanoseconds end) const
    {
        const auto found = std::ranges::find_if(o.by->stops, [&](const interval& stop) {
            return stop.from >= o.of_turn->began && end >= stop.from &&
                   end <= stop.to + limits_.slack;
        });
        return found == o.by->stops.end() ? nullptr : &*found;
    }

    // Others that were stopped, were killed; the server was away.
    std::vector<interval> other_faults(const process& but, nanoseconds from, nanoseconds to,
                                       bool kills) const
    {
        std::vector<interval> all;
        const auto add = [&](const interval& i) {
            if (overlaps(i, from, to)) {
                all.push_back(i);
            }
        };
        for (const auto& p : history_.processes) {
            if (&p != &but) {
                std::ranges::for_each(p.stops, add);
                if (kills && p.killed) {
                    add({*p.killed, *p.killed});
                }
            }
        }
        for (const auto& o : history_.outages) {
            add({o.from, o.to + limits_.slack}); // clients come back, one after the other
        }
        return all;
    }

    void look_at_turn(const owned& o, const owned* next)
    {
        const auto& t = *o.of_turn;
        const auto who = o.by->name + ", shard " + std::to_string(t.shard);
        const auto end = t.ended ? t.ended : o.by->killed;
        if (next != nullptr && next->of_turn->token <= t.token) {
            violation(who + ": the next owner has no greater token");
        }
        const auto then = next != nullptr ? next->of_turn->began : history_.to;
        if (!end || (next == nullptr && *end >= history_.to)) {
            if (next != nullptr) {
                violation(who + ": " + next->by->name + " has a body, too");
            }
            return;
        }
        const auto* const stop = stop_of(o, *end);
        if (*end > then && next != nullptr && (stop == nullptr || stop->from > then)) {
            violation(who + ": its body ended " + milliseconds(*end - then) + " after that of " +
                      next->by->name + " had begun");
        }
        if (*end < history_.from || then > history_.to) {
            return; // before and after the faults processes come and go
        }
        if (next == nullptr) {
            violation(who + ": nobody owns it at the end");
            return;
        }
        const bool in_stop = t.lost && stop != nullptr;
        const auto from = in_stop ? std::min(stop->from, then) : std::min(*end, then);
        const auto why = !t.ended                                  ? cause::killed
                         : in_stop                                 ? cause::stopped
                         : t.lost                                  ? cause::cut_off
                         : o.by->told_to && *o.by->told_to <= *end ? cause::left
                                                                   : cause::moved;
        look_at_gap(o, why, from, then);
    }

    void look_at_gap(const owned& o, cause why, nanoseconds from, nanoseconds to)
    {
        const auto gap = to - from;
        const bool alone = other_faults(*o.by, from, to, false).empty();
        found_.gaps[{why, alone}].push_back(gap);
        if (why == cause::killed) {
            auto& r = recovering_[o.by->name];
            r.time = std::max(r.time, gap);
            r.alone = r.alone && alone;
        }
        const auto others = other_faults(*o.by, from, to, true);
        auto limit = limits_.slack + limits_.lease * static_cast<nanoseconds>(1 + others.size());
        for (const auto& outage : history_.outages) {
            if (overlaps(outage, from, to)) {
                limit += outage.to - outage.from;
            }
        }
        const auto text = "shard " + std::to_string(o.of_turn->shard) + " of " + o.by->name + " (" +
                          name_of(why) + ", and " + std::to_string(others.size()) +
                          " more faults) had no owner for " + milliseconds(gap) + ", bound " +
                          milliseconds(limit);
        if (gap > found_.longest) {
            found_.longest = gap;
            found_.longest_of = text;
        }
        if (gap > limit) {
            violation(text);
        }
    }

    void look_at_end()
    {
        std::vector<std::size_t> numbers; // of the shards of each process
        std::size_t all = 0;
        for (const auto& p : history_.processes) {
            if ((p.killed && *p.killed < history_.to) || (p.told_to && *p.told_to < history_.to)) {
                continue;
            }
            numbers.push_back(
                static_cast<std::size_t>(std::ranges::count_if(p.turns, [&](const turn& t) {
                    return t.began <= history_.to && (!t.ended || *t.ended >= history_.to);
                })));
            all += numbers.back();
        }
        if (all != history_.shards) {
            violation(std::to_string(all) + " of " + std::to_string(history_.shards) +
                      " shards are owned at the end");
        }
        if (!numbers.empty() && std::ranges::max(numbers) > std::ranges::min(numbers) + 1) {
            violation("uneven at the end: " + std::to_string(std::ranges::min(numbers)) + " to " +
                      std::to_string(std::ranges::max(numbers)) + " shards of a process");
        }
    }

    const history& history_;
    const limits& limits_;
    std::map<std::string, const process*> by_name_;
    std::map<std::size_t, std::vector<owned>> turns_;
    std::map<std::string, recovery> recovering_;
    findings found_;
};

} // namespace

std::string name_of(cause c)
{
    switch (c) {
    case cause::killed: return "killed";
    case cause::left: return "left";
    case cause::moved: return "moved";
    case cause::stopped: return "stopped";
    case cause::cut_off: return "cut off";
    }
    return "";
}

findings judge(const history& h, const limits& l)
{
    return judgement{h, l}.carry_out();
}

} // namespace soak
