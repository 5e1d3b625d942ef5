// Processes with one or the other definition of the shards, each by protocol::shard_entry, in every order of events.
#include "depth_first.hpp"
#include "explore.hpp"
#include "recipes/shards/entry.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using colock::model::violation;
using colock::protocol::shard_entry;
using command = shard_entry::command;

namespace {

struct scenario {
    // Of each process: a small letter may not replace what is written, a capital letter may. "ooN": two old ones, and a new one.
    std::string processes;
    std::string written = {}; // before all of them
    int expiries = 0;         // of the session of any process
    int restarts = 0;         // of any process, under its definition
    int cancellations = 0;    // of a run
    bool old_ones_end = true; // those that may not replace end in the end
};

struct laboratory {
    explicit laboratory(scenario s) : rules{std::move(s)} {}

    scenario rules;
};

void expect(bool condition, const char* what)
{
    if (!condition) {
        throw violation{what};
    }
}

char definition_of(char process)
{
    return static_cast<char>(process | 0x20);
}

bool replaces(char process)
{
    return process < 'a';
}

// One process, as what does its I/O knows it, and its session.
struct process {
    explicit process(char k) : kind{k}, machine{replaces(k)} {}

    char kind;
    shard_entry machine;
    std::optional<command> asked; // of the servers
    bool served = false;          // and not yet answered
    char answer = 0;              // the definition that was read; 0: none
    bool has_use = false;         // as it was told
    bool member = false;          // it may take shards
    bool ending = false;          // no more
    bool holds = false;           // a shard of its definition
    bool refused = false;         // or has ended
    bool leaves_for_good = false;
};

class world {
public:
    explicit world(const laboratory& lab)
        : expiries_{lab.rules.expiries}, restarts_{lab.rules.restarts},
          cancellations_{lab.rules.cancellations}, old_ones_end_{lab.rules.old_ones_end}
    {
        if (!lab.rules.written.empty()) {
            written_ = lab.rules.written.front();
        }
        for (const auto kind : lab.rules.processes) {
            processes_.emplace_back(kind);
        }
        for (std::size_t p = 0; p != processes_.size(); ++p) {
            perform(p, processes_[p].machine.begin());
        }
    }

    struct step {
        enum class what : std::uint8_t {
            serve,   // what was asked for
            answer,  // or: `use` is granted
            give_up, // waiting for it alone: the definition is the own one
            take,    // a shard
            end,     // the last body, and all that makes it a member
            leave,   // an old one, for good
            expire,  // from here on adverse
            restart,
            cancel,
        };
        what type;
        std::size_t who = 0;
        [[nodiscard]] bool is_adverse() const { return type >= what::expire; }
    };

    [[nodiscard]] std::vector<step> possible() const
    {
        using enum step::what;
        std::vector<step> all;
        for (std::size_t p = 0; p != processes_.size(); ++p) {
            const auto& each = processes_[p];
            if (each.asked && !each.served) {
                all.push_back({serve, p});
            }
            if (each.served && (!locks(each) || is_granted(p))) {
                all.push_back({answer, p});
            }
            if (each.asked == command::alone && definition_of(each.kind) == written_) {
                all.push_back({give_up, p});
            }
            if (each.member && !each.ending && !each.holds) {
                all.push_back({take, p});
            }
            if (each.ending) {
                all.push_back({end, p});
            }
            if (old_ones_end_ && !replaces(each.kind) && each.member && !each.ending) {
                all.push_back({leave, p});
            }
            if (each.refused) {
                continue;
            }
            if (expiries_ != 0) {
                all.push_back({expire, p});
            }
            if (restarts_ != 0) {
                all.push_back({restart, p});
            }
            if (cancellations_ != 0 && each.member && !each.ending) {
                all.push_back({cancel, p});
            }
        }
        return all;
    }

    void take(const step& s, const laboratory&)
    {
        using enum step::what;
        auto& p = processes_[s.who];
        switch (s.type) {
        case serve: serve_(s.who); break;
        case answer: answer_(s.who); break;
        case give_up:
            give_back(s.who);
            p.asked.reset();
            p.served = false;
            perform(s.who, p.machine.granted(false));
            break;
        case take:
            expect(written_ == definition_of(p.kind),
                   "a shard of a definition that is not written");
            expect(std::ranges::none_of(processes_,
                                        [&](const process& other) {
                                            return other.holds && definition_of(other.kind) !=
                                                                      definition_of(p.kind);
                                        }),
                   "a shard of one set is granted while one of another set is held");
            p.holds = true;
            break;
        case end:
            p.member = p.ending = p.holds = false;
            if (p.leaves_for_good) {
                give_back(s.who);
                p.refused = true;
            } else {
                perform(s.who, p.machine.left());
            }
            break;
        case cancel: --cancellations_; [[fallthrough]];
        case leave: p.ending = p.leaves_for_good = true; break;
        case expire:
            --expiries_;
            expire_(s.who);
            break;
        case restart:
            --restarts_;
            give_back(s.who);
            p = process{p.kind};
            perform(s.who, p.machine.begin());
            break;
        }
    }

    void check_end(const laboratory&) const
    {
        const bool one_stays = std::ranges::any_of(processes_, [&](const process& p) {
            return p.member && definition_of(p.kind) == written_;
        });
        for (std::size_t who = 0; who != processes_.size(); ++who) {
            const auto& p = processes_[who];
            const bool fits = definition_of(p.kind) == written_;
            if (p.refused) {
                expect(p.leaves_for_good || (!fits && !replaces(p.kind)),
                       "a process is refused that could be a member");
            } else if (p.member) {
                expect(fits && p.holds, "a member has not what it should have");
            } else { // who may not replace it queues after who may
                expect(one_stays && p.asked && locks(p), "a process waits for nobody");
                expect(!fits || stands_after_a_replacer(who),
                       "a process waits for members with its own definition");
            }
        }
    }

    void write(std::string& to) const
    {
        const auto put = [&](auto value) { to += static_cast<char>(value); };
        for (const auto& p : processes_) {
            to += p.machine.fingerprint();
            put(p.asked ? 1 + static_cast<int>(*p.asked) : 0);
            put(p.served + 2 * p.has_use + 4 * p.member + 8 * p.ending + 16 * p.holds +
                32 * p.refused + 64 * p.leaves_for_good);
            put(p.answer);
        }
        put(use_.size());
        for (const auto& each : use_) {
            put(each.who);
            put(each.alone);
        }
        put(written_);
        put(expiries_);
        put(restarts_);
        put(cancellations_);
    }

private:
    struct node {
        std::size_t who;
        bool alone;
    };

    [[nodiscard]] static bool locks(const process& p)
    {
        return p.asked == command::share || p.asked == command::alone;
    }
    [[nodiscard]] bool has_node(std::size_t who) const
    {
        return std::ranges::find(use_, who, &node::who) != use_.end();
    }
    [[nodiscard]] bool is_granted(std::size_t who) const
    {
        const auto own = std::ranges::find(use_, who, &node::who);
        return own != use_.end() &&
               (own->alone ? own == use_.begin()
                           : std::none_of(use_.begin(), own, [](auto& n) { return n.alone; }));
    }

    [[nodiscard]] bool stands_after_a_replacer(std::size_t who) const
    {
        const auto own = std::ranges::find(use_, who, &node::who);
        return std::any_of(use_.begin(), own, [&](const node& n) {
            return n.alone && definition_of(processes_[n.who].kind) != written_;
        });
    }

    void serve_(std::size_t who)
    {
        auto& p = processes_[who];
        p.served = true;
        switch (*p.asked) {
        case command::share:
        case command::alone: use_.push_back({who, p.asked == command::alone}); break;
        case command::read: p.answer = written_; break;
        case command::create: written_ = written_ ? written_ : definition_of(p.kind); break;
        case command::replace: // the servers check that `use` is held
            written_ = is_granted(who) ? definition_of(p.kind) : written_;
            break;
        case command::enter:
        case command::leave:
        case command::refuse: break;
        }
    }

    void answer_(std::size_t who)
    {
        auto& p = processes_[who];
        const auto asked = *std::exchange(p.asked, std::nullopt);
        p.served = false;
        switch (asked) {
        case command::share:
        case command::alone:
            p.has_use = true;
            perform(who, p.machine.granted(true));
            break;
        case command::read: {
            using enum shard_entry::definition;
            const auto read = std::exchange(p.answer, char{0});
            perform(who, p.machine.found(read == 0                       ? none
                                         : read == definition_of(p.kind) ? own
                                                                         : another));
            break;
        }
        case command::create:
        case command::replace: perform(who, p.machine.written()); break;
        case command::enter:
        case command::leave:
        case command::refuse: break;
        }
    }

    // A process learns of it before anything comes of its next session, and what it has asked for is asked for there.
    void expire_(std::size_t who)
    {
        auto& p = processes_[who];
        const bool waits = p.asked && locks(p) && p.served;
        const bool alone = p.asked == command::alone;
        const bool loses = p.has_use;
        give_back(who);
        p.holds = false;
        if (waits) {
            use_.push_back({who, alone});
        }
        if (loses) {
            if (const auto next = p.machine.lost()) {
                perform(who, *next);
            }
        }
    }

    void give_back(std::size_t who)
    {
        std::erase_if(use_, [&](const node& n) { return n.who == who; });
        processes_[who].has_use = false;
    }

    void perform(std::size_t who, command c)
    {
        auto& p = processes_[who];
        expect(!p.asked, "contract: asks twice");
        switch (c) {
        case command::share:
        case command::alone:
            expect(!p.member && !p.holds, "contract: gives `use` back while it is a member");
            give_back(who);
            p.asked = c;
            break;
        case command::read:
        case command::create:
        case command::replace: p.asked = c; break;
        case command::enter:
            expect(!p.member, "contract: becomes a member twice");
            p.member = true;
            p.ending = !p.has_use; // which it looks for then
            break;
        case command::leave:
            expect(p.member, "contract: leaves what it is not in");
            p.ending = true;
            break;
        case command::refuse:
            give_back(who);
            p.refused = true;
            break;
        }
    }

    std::vector<process> processes_;
    std::deque<node> use_; // the queue of the lock
    char written_ = 0;     // the definition
    int expiries_;
    int restarts_;
    int cancellations_;
    bool old_ones_end_;
};

std::string to_string(const world::step& s)
{
    static constexpr std::array names{
        "served",      "answered", "waits no longer:", "takes a shard", "has ended",
        "is to leave", "expires",  "restarts",         "is cancelled"};
    return std::string{names[static_cast<std::size_t>(s.type)]} + " process " +
           std::to_string(s.who);
}

void explore(const scenario& s, std::size_t floor)
{
    using walk = colock::model::depth_first_walk<world, laboratory>;
    colock::model::explore_by<walk>(s, floor);
}

} // namespace

BOOST_AUTO_TEST_SUITE(shards_redefined)

BOOST_AUTO_TEST_CASE(the_first_ones_agree)
{
    explore({.processes = "oo"}, 250);
    explore({.processes = "on"}, 250);
    explore({.processes = "ooo", .expiries = 1}, 20000);
}

BOOST_AUTO_TEST_CASE(a_new_one_waits_for_the_old_ones)
{
    explore({.processes = "oN", .written = "o"}, 130);
    explore({.processes = "ooN", .written = "o"}, 2000);
    explore({.processes = "oNN", .written = "o"}, 1800);
    explore({.processes = "oN", .written = "o", .old_ones_end = false}, 100);
}

BOOST_AUTO_TEST_CASE(a_session_is_lost_meanwhile)
{
    explore({.processes = "oN", .written = "o", .expiries = 3}, 950);
    explore({.processes = "ooN", .written = "o", .expiries = 1}, 5900);
    explore({.processes = "oNN", .written = "o", .expiries = 1}, 5800);
}

BOOST_AUTO_TEST_CASE(an_old_one_starts_again_meanwhile)
{
    explore({.processes = "oN", .written = "o", .restarts = 3}, 530);
    explore({.processes = "ooN", .written = "o", .expiries = 1, .restarts = 1}, 11800);
    explore({.processes = "ooNN", .written = "o", .expiries = 1, .restarts = 1}, 204'000);
}

BOOST_AUTO_TEST_CASE(two_that_may_replace_have_different_definitions)
{
    explore({.processes = "ON", .expiries = 1, .cancellations = 1}, 900);
    explore({.processes = "ONN", .cancellations = 2}, 7400);
}

BOOST_AUTO_TEST_SUITE_END()
