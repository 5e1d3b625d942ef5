// Members of a group who take shards and give them up, each by protocol::shard_member, in every order of events.
#include "depth_first.hpp"
#include "explore.hpp"
#include "recipes/shards/member.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using colock::model::violation;
using colock::protocol::shard_index;
using colock::protocol::shard_member;
using colock::protocol::shard_owners;
using kind = shard_member::command::kind;

namespace {

struct scenario {
    std::size_t members = 2;
    bool prepares = false;
    // What the leaders write, one after the other.
    std::vector<shard_owners> tables;
    int operators = 0;   // who lock a shard by hand
    int expiries = 0;    // of the first member's session
    bool leaves = false; // the first member stops in the end
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

std::string name_of(std::size_t member)
{
    return std::string{static_cast<char>('a' + member)};
}

constexpr std::size_t an_operator = 99;

// One shard at one member, as what does its I/O knows it.
struct part {
    bool looking = false;
    bool preparing = false;
    bool told = false;     // to stop that
    bool in_queue = false; // of the lock
    bool begun = false;
    bool ending = false;
    bool lost = false; // with the session
    bool watching = false;
};

struct member {
    member(std::string name, std::size_t shards, bool prepares)
        : machine{std::move(name), shards, prepares}, parts(shards)
    {
    }

    shard_member machine;
    std::vector<part> parts;
    std::size_t seen = 0; // so many of the tables
    bool confirming = false;
    std::optional<std::size_t> confirmed; // what was read last after a sync
    bool stopped = false;
};

class world {
public:
    explicit world(const laboratory& lab)
        : operators_{lab.rules.operators}, expiries_{lab.rules.expiries}, leaves_{lab.rules.leaves},
          queues_(lab.rules.tables.front().size())
    {
        for (std::size_t m = 0; m != lab.rules.members; ++m) {
            members_.emplace_back(name_of(m), queues_.size(), lab.rules.prepares);
        }
        tables_ = lab.rules.tables.size();
    }

    struct step {
        enum class what : std::uint8_t {
            write,   // the next table
            read,    // `at`: by a member, one table more than it knows: servers may lag
            confirm, // by a member, the last table
            look,
            prepared,
            begin,
            end,
            contend,
            operator_leaves,
            stop,
            operator_comes, // from here on adverse
            expire,
        };
        what type;
        std::size_t member = 0;
        shard_index shard = 0;
        [[nodiscard]] bool is_adverse() const { return type >= what::operator_comes; }
    };

    [[nodiscard]] std::vector<step> possible() const
    {
        using enum step::what;
        std::vector<step> all;
        if (written_ != tables_) {
            all.push_back({write});
        }
        for (std::size_t m = 0; m != members_.size(); ++m) {
            const auto& each = members_[m];
            if (each.seen != written_) {
                all.push_back({read, m});
            }
            if (each.confirming) {
                all.push_back({confirm, m});
            }
            for (shard_index s = 0; s != queues_.size(); ++s) {
                const auto& p = each.parts[s];
                if (p.looking) {
                    all.push_back({look, m, s});
                }
                if (p.preparing) {
                    all.push_back({prepared, m, s});
                }
                if (p.in_queue && !p.begun && !p.ending && queues_[s].front() == m) {
                    all.push_back({begin, m, s});
                }
                if (p.ending || p.lost) {
                    all.push_back({end, m, s});
                }
                if (p.watching && queues_[s].size() > 1) {
                    all.push_back({contend, m, s});
                }
            }
        }
        for (shard_index s = 0; s != queues_.size(); ++s) {
            if (!queues_[s].empty() && queues_[s].front() == an_operator) {
                all.push_back({operator_leaves, 0, s});
            }
            if (operators_ != 0) {
                all.push_back({operator_comes, 0, s});
            }
        }
        if (leaves_ && written_ == tables_ && !members_.front().stopped) {
            all.push_back({stop});
        }
        if (expiries_ != 0) {
            all.push_back({expire});
        }
        return all;
    }

    void take(const step& s, const laboratory& lab)
    {
        using enum step::what;
        auto& m = members_[s.member];
        auto& p = m.parts[s.shard];
        const auto feed = [&](auto input) {
            shard_member::commands out;
            input(out);
            for (const auto& c : out) {
                perform(s.member, c, lab);
            }
        };
        switch (s.type) {
        case write: ++written_; break;
        case read:
            ++m.seen;
            feed([&](auto& out) { m.machine.assigned(lab.rules.tables[m.seen - 1], false, out); });
            break;
        case confirm:
            m.confirming = false;
            m.seen = written_;
            m.confirmed = written_ - 1;
            feed([&](auto& out) { m.machine.assigned(lab.rules.tables[m.seen - 1], true, out); });
            break;
        case look:
            p.looking = false;
            feed([&](auto& out) { m.machine.looked(s.shard, queues_[s.shard].empty(), out); });
            break;
        case prepared:
            p.preparing = false;
            feed([&](auto& out) { m.machine.prepared(s.shard, out); });
            break;
        case begin: {
            p.begun = true;
            const auto before = m.machine.fingerprint();
            m.machine.began(s.shard);
            expect(m.machine.fingerprint() != before,
                   "a body runs that the member does not know of");
            break;
        }
        case end:
            if (p.in_queue) {
                std::erase(queues_[s.shard], s.member);
            }
            p = {.looking = p.looking, .watching = p.watching};
            feed([&](auto& out) { m.machine.ended(s.shard, out); });
            break;
        case contend:
            p.watching = false;
            feed([&](auto& out) { m.machine.contended(s.shard, out); });
            break;
        case operator_leaves: queues_[s.shard].pop_front(); break;
        case stop:
            m.stopped = true;
            for (auto& each : m.parts) {
                each.told = false;
            }
            feed([&](auto& out) { m.machine.stop(out); });
            expect(std::ranges::all_of(
                       m.parts, [](const part& each) { return !each.preparing || each.told; }),
                   "goes on to prepare, or to pause after that");
            break;
        case operator_comes:
            --operators_;
            queues_[s.shard].push_back(an_operator);
            break;
        case expire:
            --expiries_;
            for (shard_index i = 0; i != queues_.size(); ++i) {
                std::erase(queues_[i], std::size_t{0});
                auto& lost = members_[0].parts[i];
                lost.lost = lost.begun;
                if (lost.in_queue && !lost.begun && !lost.ending) {
                    queues_[i].push_back(0); // its contender joins again
                } else {
                    lost.in_queue = false;
                }
            }
            break;
        }
    }

    void check_end(const laboratory& lab) const
    {
        expect(written_ == tables_, "a table is not written");
        const auto& last = lab.rules.tables.back();
        for (std::size_t m = 0; m != members_.size(); ++m) {
            const auto& each = members_[m];
            expect(each.stopped ? each.machine.is_idle() : each.machine.is_settled(),
                   "a member has not done what it should");
            for (shard_index s = 0; s != queues_.size(); ++s) {
                const bool has = each.parts[s].begun && !each.parts[s].ending;
                expect(has == (!each.stopped && last[s] == name_of(m)),
                       "a shard is not where it should be");
                expect(has == (!queues_[s].empty() && queues_[s].front() == m),
                       "who holds a shard is not the first in its queue");
                expect(!each.parts[s].watching, "a watch is left behind");
            }
        }
    }

    void write(std::string& to) const
    {
        const auto put = [&](auto value) { to += static_cast<char>(value); };
        for (const auto& m : members_) {
            to += m.machine.fingerprint();
            for (const auto& p : m.parts) {
                put(p.looking + 2 * p.preparing + 4 * p.in_queue + 8 * p.begun + 16 * p.ending +
                    32 * p.lost + 64 * p.watching);
            }
            put(m.seen);
            put(m.confirming + 2 * m.stopped);
            put(m.confirmed.value_or(100));
        }
        for (const auto& q : queues_) {
            put(q.size());
            for (const auto m : q) {
                put(m);
            }
        }
        put(written_);
        put(operators_);
        put(expiries_);
    }

private:
    void perform(std::size_t of, const shard_member::command& c, const laboratory& lab)
    {
        auto& m = members_[of];
        auto& p = m.parts[c.shard];
        expect(!m.stopped || c.type == kind::end || c.type == kind::stop_preparing ||
                   c.type == kind::unwatch,
               "contract: begins something after it was stopped");
        switch (c.type) {
        case kind::look: p.looking = true; break;
        case kind::prepare:
            expect(!p.preparing, "contract: prepares what it prepares already");
            expect(!p.begun, "contract: prepares what it holds");
            p.preparing = true;
            break;
        case kind::stop_preparing:
            expect(p.preparing, "contract: nothing to stop");
            p.told = true;
            break;
        case kind::lock:
        case kind::lock_first:
            expect(!p.in_queue && !p.begun && !p.ending, "contract: queues before its body ended");
            expect(!p.preparing, "contract: queues before it has prepared");
            p.in_queue = true;
            queues_[c.shard].push_back(of);
            break;
        case kind::end:
            expect(!p.ending, "contract: ends twice");
            if (p.begun && !p.lost && !m.stopped) {
                const auto known = m.confirmed ? *m.confirmed : std::size_t{0};
                const auto& last = lab.rules.tables[m.seen - 1];
                expect(last[c.shard].empty() ||
                           (m.confirmed && known + 1 == m.seen && last[c.shard] != name_of(of)),
                       "gives up a shard on account of a table that may be stale");
            }
            p.ending = true;
            break;
        case kind::watch:
            expect(!p.watching, "contract: watches twice");
            p.watching = true;
            break;
        case kind::unwatch: p.watching = false; break;
        case kind::confirm:
            expect(!m.confirming, "contract: confirms twice");
            m.confirming = true;
            break;
        }
    }

    std::vector<member> members_;
    std::size_t written_ = 0;
    std::size_t tables_ = 0;
    int operators_;
    int expiries_;
    bool leaves_;
    std::vector<std::deque<std::size_t>> queues_;
};

std::string to_string(const world::step& s)
{
    static constexpr std::array names{"written",         "read",   "confirmed",      "looked",
                                      "prepared",        "begins", "ends",           "contends",
                                      "operator leaves", "stops",  "operator comes", "expires"};
    return std::string{names[static_cast<std::size_t>(s.type)]} + " member " +
           std::to_string(s.member) + " shard " + std::to_string(s.shard);
}

void explore(const scenario& s, std::size_t floor)
{
    using walk = colock::model::depth_first_walk<world, laboratory>;
    colock::model::explore_by<walk>(s, floor);
}

} // namespace

BOOST_AUTO_TEST_SUITE(shards)

BOOST_AUTO_TEST_CASE(a_shard_moves)
{
    explore({.tables = {{"a"}, {"b"}}}, 50);
}

BOOST_AUTO_TEST_CASE(a_shard_moves_there_and_back)
{
    explore({.tables = {{"a"}, {"b"}, {"a"}, {"b"}}}, 700);
}

BOOST_AUTO_TEST_CASE(a_shard_moves_that_is_prepared)
{
    explore({.prepares = true, .tables = {{"a"}, {"b"}, {"a"}}}, 250);
}

BOOST_AUTO_TEST_CASE(shards_change_places)
{
    explore({.tables = {{"a", "b"}, {"b", "a"}}}, 350);
}

BOOST_AUTO_TEST_CASE(two_of_three_shards_move_and_one_comes_back)
{
    explore({.prepares = true, .tables = {{"a", "a"}, {"b", "a"}, {"a", "b"}}}, 2'400);
}

BOOST_AUTO_TEST_CASE(three_members)
{
    explore({.members = 3, .tables = {{"a"}, {"b"}, {"c"}, {"a"}}}, 6'400);
}

BOOST_AUTO_TEST_CASE(an_operator_locks_a_shard)
{
    explore({.tables = {{"a"}, {"b"}, {"a"}}, .operators = 2}, 2'100);
}

BOOST_AUTO_TEST_CASE(the_session_of_an_owner_expires)
{
    explore({.prepares = true, .tables = {{"a"}, {"b"}, {"a"}}, .operators = 1, .expiries = 2},
            5'200);
}

BOOST_AUTO_TEST_CASE(nobody_shall_have_it)
{
    explore({.tables = {{"a"}, {""}, {"a"}, {""}}, .operators = 1, .expiries = 1}, 1'300);
}

BOOST_AUTO_TEST_CASE(a_member_leaves)
{
    explore({.prepares = true,
             .tables = {{"a", "b"}, {"b", "a"}, {"b", "b"}},
             .operators = 1,
             .expiries = 1,
             .leaves = true},
            180'000);
}

BOOST_AUTO_TEST_SUITE_END()
