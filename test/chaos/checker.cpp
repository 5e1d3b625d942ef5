#include "checker.hpp"

#include <algorithm>
#include <iomanip>
#include <map>
#include <optional>
#include <sstream>
#include <tuple>
#include <utility>

namespace chaos {

namespace {

struct turn {
    std::string name; // of the process and the turn
    std::string lock;
    bool exclusive = true;
    std::uint64_t permits = 0;
    std::string token;
    int completions = 0;
    bool granted = false;
    bool drops = false; // its guard, instead of unlocking
    int leavings = 0;
    int unlocks = 0;
    std::optional<nanoseconds> first, last; // proofs that it held
    std::optional<nanoseconds> over;        // it has lapsed, was told of its loss, or is leaving
    std::optional<nanoseconds> told, ran;   // told of its loss, and the time of the loop before
    std::optional<nanoseconds> rejected;

    // Until then it held, or went on without being told.
    [[nodiscard]] nanoseconds end() const { return std::max(*last, ran.value_or(*last)); }
};

bool conflict(const turn& a, const turn& b)
{
    return a.exclusive || b.exclusive;
}

std::string seconds(nanoseconds t)
{
    std::ostringstream text;
    text << std::fixed << std::setprecision(6) << static_cast<double>(t) / 1e9;
    return text.str();
}

// A line that ends early reads as empty words.
std::string word(const event& e, std::size_t number)
{
    return number < e.words.size() ? e.words[number] : std::string{};
}

class checking {
public:
    findings result;

    void read(const journal& j)
    {
        std::map<std::uint64_t, turn> turns;
        bool closed = false;
        for (const auto& e : j.events) {
            if (closed) {
                complain(j.process + ": a line behind \"closed\", at " + seconds(e.at));
            }
            closed = closed || e.what == what::closed;
            if (e.turn == 0) {
                continue;
            }
            if (e.what == what::asked) {
                begin(turns, j, e);
            } else if (const auto found = turns.find(e.turn); found == turns.end()) {
                complain(j.process + " turn " + std::to_string(e.turn) + ": " +
                         std::string{name_of(e.what)} + " before it was asked for (G6)");
            } else {
                go_on(found->second, e);
            }
        }
        for (auto& [number, t] : turns) {
            if (closed && t.completions == 0) {
                complain(t.name + ": its operation has not completed when the client was closed "
                                  "(G6)");
            }
            if (closed && t.leavings > 0 && !t.drops && t.unlocks == 0) {
                complain(t.name + ": its unlock has not completed when the client was closed (G6)");
            }
            result.turns += t.granted ? 1U : 0U;
            result.lost += t.told ? 1U : 0U;
            result.rejected += t.rejected ? 1U : 0U;
            if (t.first) {
                proven_[t.lock].push_back(std::move(t));
            }
        }
    }

    void compare(std::uint64_t permits)
    {
        for (auto& [lock, turns] : proven_) {
            std::ranges::sort(turns,
                              [](const auto& a, const auto& b) { return *a.first < *b.first; });
            if (turns.front().permits > 0) {
                check_permits(turns, permits);
            } else {
                check_exclusion(turns);
                check_tokens(turns);
            }
        }
    }

    void follow(const std::vector<register_entry>& accepted)
    {
        std::map<std::string, const turn*> by_name;
        for (const auto& [lock, turns] : proven_) {
            for (const auto& t : turns) {
                by_name[t.name] = &t;
            }
        }
        std::map<std::string, const register_entry*> last;
        for (const auto& e : accepted) {
            const auto* before = std::exchange(last[e.lock], &e);
            if (!before || (before->process == e.process && before->turn == e.turn)) {
                continue;
            }
            if (e.token == before->token) {
                complain(name(e) + ": has the token of " + name(*before) + ", " + e.token);
            }
            const auto a = by_name.find(name(*before));
            const auto b = by_name.find(name(e));
            if (a != by_name.end() && b != by_name.end() && *b->second->first < *a->second->first) {
                complain(name(e) + ": the register took its write behind that of " + name(*before) +
                         ", which held the lock later: a stale write");
            }
        }
    }

private:
    static std::string name(const register_entry& e)
    {
        return e.process + " turn " + std::to_string(e.turn);
    }

    void complain(std::string text) { result.violations.push_back(std::move(text)); }

    void begin(std::map<std::uint64_t, turn>& turns, const journal& j, const event& e)
    {
        turn t;
        t.name = j.process + " turn " + std::to_string(e.turn);
        t.lock = word(e, 0);
        t.exclusive = word(e, 1) == "exclusive";
        if (!t.exclusive && word(e, 1) != "shared") {
            std::istringstream{word(e, 1)} >> t.permits;
        }
        if (!turns.emplace(e.turn, std::move(t)).second) {
            complain(j.process + " turn " + std::to_string(e.turn) + ": asked for twice");
        }
    }

    void go_on(turn& t, const event& e)
    {
        switch (e.what) {
        case what::granted:
        case what::refused:
            if (++t.completions > 1) {
                complain(t.name + ": its operation completed twice, at " + seconds(e.at) + " (G6)");
            }
            t.granted = t.granted || e.what == what::granted;
            t.token = word(e, 0);
            break;
        case what::holds:
            if (!t.granted) {
                complain(t.name + ": holds what was not granted");
            }
            if (t.over && e.at > *t.over) {
                complain(t.name + ": holds at " + seconds(e.at) + " what it had lost or left at " +
                         seconds(*t.over) + " (G5)");
            }
            if (t.rejected && e.at > *t.rejected) {
                complain(t.name + ": holds at " + seconds(e.at) +
                         ", and the register has seen a greater token at " + seconds(*t.rejected) +
                         " (G1)");
            }
            t.first = t.first ? t.first : e.at;
            t.last = e.at;
            break;
        case what::lapsed: t.over = t.over ? t.over : e.at; break;
        case what::told: {
            nanoseconds ran = 0;
            std::istringstream{word(e, 0)} >> ran;
            t.told = e.at;
            t.ran = ran;
            t.over = t.over ? t.over : e.at;
            break;
        }
        case what::untold:
            complain(t.name + ": lost the lock, and was not told by " + seconds(e.at) + " (G5)");
            break;
        case what::rejected: t.rejected = e.at; break;
        case what::leaving:
            ++t.leavings;
            t.drops = word(e, 0) == "dropped";
            t.over = t.over ? t.over : e.at;
            break;
        case what::left:
            if (++t.unlocks > 1) {
                complain(t.name + ": its unlock completed twice, at " + seconds(e.at) + " (G6)");
            }
            break;
        case what::accepted:
        case what::started:
        case what::quiet:
        case what::closed:
        case what::asked: break;
        }
    }

    // In the order of their beginnings. Whoever of those before ends last is the one to compare with.
    void check_exclusion(const std::vector<turn>& turns)
    {
        const turn* exclusive = nullptr;
        const turn* any = nullptr;
        for (const auto& t : turns) {
            const turn* const before = t.exclusive ? any : exclusive;
            if (before && before->end() >= *t.first) {
                const bool proven = *before->last >= *t.first;
                complain(t.lock + ": " + t.name + " held it at " + seconds(*t.first) + ", " +
                         before->name +
                         (proven ? " held it at " + seconds(*before->last) + " still (G1)"
                                 : " was told of its loss at " + seconds(*before->told) +
                                       " only, and ran at " + seconds(*before->ran) + " (G5)"));
            }
            if (before && before->told && *before->told < *t.first) {
                result.leads.push_back(*t.first - *before->told);
            }
            const auto later = [&](const turn* a) { return !a || a->end() < t.end() ? &t : a; };
            any = later(any);
            exclusive = t.exclusive ? later(exclusive) : exclusive;
        }
    }

    void check_tokens(const std::vector<turn>& turns)
    {
        const turn* exclusive = nullptr;
        const turn* any = nullptr;
        for (const auto& t : turns) {
            const turn* const before = t.exclusive ? any : exclusive;
            if (before && conflict(*before, t) && before->token >= t.token) {
                complain(t.lock + ": " + t.name + " came behind " + before->name +
                         ", and its token " + t.token + " is not greater than " + before->token +
                         " (G1, G2)");
            }
            const auto greater = [&](const turn* a) { return !a || a->token < t.token ? &t : a; };
            any = greater(any);
            exclusive = t.exclusive ? greater(exclusive) : exclusive;
        }
    }

    void check_permits(const std::vector<turn>& turns, std::uint64_t most)
    {
        // Ends come first where times are equal.
        std::vector<std::tuple<nanoseconds, bool, const turn*>> changes;
        for (const auto& t : turns) {
            changes.emplace_back(*t.first, true, &t);
            changes.emplace_back(t.end(), false, &t);
        }
        std::ranges::sort(changes, [](const auto& a, const auto& b) {
            return std::tie(std::get<0>(a), std::get<1>(a)) <
                   std::tie(std::get<0>(b), std::get<1>(b));
        });
        std::uint64_t held = 0;
        for (const auto& [at, takes, t] : changes) {
            // One proof alone is no duration: it begins and ends at one time.
            if (*t->first == t->end()) {
                if (takes && held + t->permits > most) {
                    complain(too_many(*t, at, held + t->permits));
                }
            } else if (takes) {
                held += t->permits;
                if (held > most) {
                    complain(too_many(*t, at, held));
                }
            } else {
                held -= t->permits;
            }
        }
    }

    static std::string too_many(const turn& t, nanoseconds at, std::uint64_t held)
    {
        return t.lock + ": " + std::to_string(held) + " permits were held at " + seconds(at) +
               ", with those of " + t.name + " (G1)";
    }

    std::map<std::string, std::vector<turn>> proven_; // by lock
};

} // namespace

findings check(const std::vector<journal>& journals, const std::vector<register_entry>& accepted,
               std::uint64_t permits)
{
    checking c;
    for (const auto& j : journals) {
        c.read(j);
    }
    c.compare(permits);
    c.follow(accepted);
    std::ranges::sort(c.result.leads);
    return std::move(c.result);
}

std::map<std::string, std::size_t> granted_at(const journal& j, nanoseconds since)
{
    std::map<std::uint64_t, std::string> locks;
    std::map<std::string, std::size_t> granted;
    for (const auto& e : j.events) {
        if (e.what == what::asked) {
            locks[e.turn] = word(e, 0);
        } else if (e.what == what::granted && e.at >= since) {
            ++granted[locks[e.turn]];
        }
    }
    return granted;
}

} // namespace chaos
