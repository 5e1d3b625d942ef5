// Processes at a latch and at a barrier, each by protocol::arrival, in every order of events.
#include "depth_first.hpp"
#include "explore.hpp"
#include "recipes/rendezvous/arrival.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using colock::error_code;
using colock::zookeeper_errc;
using colock::model::violation;
using colock::protocol::arrival;
using kind = arrival::command::kind;
using role = arrival::role;

namespace {

struct scenario {
    std::vector<role> processes = {role::arrive, role::arrive};
    std::uint32_t count = 2;
    bool reusable = false;
    std::uint64_t phases = 1; // so often each arrives
    bool by_number = false;   // in the phase that it names
    int lost = 0;             // answers
    int expiries = 0;         // of sessions whose process lives
    int deaths = 0;           // somebody else comes in the place of one that dies
    bool lingers = false;     // the session of one that dies
    int refusals = 0;         // of requests, for good
    int cancellations = 0;
    bool at_once = true; // they are
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

struct node {
    std::size_t session; // 0: persistent

    bool operator==(const node&) const = default;
};

struct process {
    std::optional<arrival> machine;
    std::uint64_t session = 0;
    std::uint64_t passed = 0; // phases
    std::optional<arrival::command> asked;
    bool served = false;
    error_code answer;
    arrival::names names;
    bool cancelled = false;
    bool failed = false;
    bool told = false;
    bool waits = false; // for a deletion that has not come
};

// The session of a dead process, and what it has sent.
struct remains {
    std::size_t session;
    std::vector<arrival::step> asked;
};

class world {
public:
    explicit world(const laboratory& lab)
        : lost_{lab.rules.lost}, expiries_{lab.rules.expiries}, deaths_{lab.rules.deaths},
          refusals_{lab.rules.refusals}, cancellations_{lab.rules.cancellations}
    {
        processes_.resize(lab.rules.processes.size());
        for (std::size_t p = 0; p != processes_.size(); ++p) {
            processes_[p].session = ++sessions_;
            begin(p, lab);
        }
    }

    struct step {
        enum class what : std::uint8_t {
            serve,  // a request is carried out
            answer, // and answered
            fire,   // a watch
            serve_dead,
            end_dead, // the session expires
            lose,     // from here on adverse: the answer; what was not carried out never is
            expire,
            die,
            refuse,
            cancel,
        };
        what type;
        std::size_t process = 0;
        [[nodiscard]] bool is_adverse() const { return type >= what::lose; }
    };

    [[nodiscard]] std::vector<step> possible() const
    {
        using enum step::what;
        std::vector<step> all;
        for (std::size_t d = 0; d != dead_.size(); ++d) {
            if (!dead_[d].asked.empty()) {
                all.push_back({serve_dead, d});
            }
            all.push_back({end_dead, d});
        }
        for (std::size_t p = 0; p != processes_.size(); ++p) {
            const auto& each = processes_[p];
            if (!each.machine) {
                if (expiries_ != 0) {
                    all.push_back({expire, p}); // of one that has gone on
                }
                continue;
            }
            if (each.asked && !each.served && !each.waits) {
                all.push_back({serve, p});
            }
            if (each.served) {
                all.push_back({answer, p});
            }
            if (each.waits && !nodes_.contains(each.asked->name)) {
                all.push_back({fire, p});
            }
            if (lost_ != 0 && each.asked && is_request(each.asked->type) && !each.waits) {
                all.push_back({lose, p});
            }
            if (expiries_ != 0) {
                all.push_back({expire, p});
            }
            if (deaths_ != 0 && !each.cancelled) {
                all.push_back({die, p});
            }
            if (refusals_ != 0 && each.asked && is_request(each.asked->type) && !each.served &&
                !each.waits) {
                all.push_back({refuse, p});
            }
            if (cancellations_ != 0 && !each.cancelled) {
                all.push_back({cancel, p});
            }
        }
        return all;
    }

    void take(const step& s, const laboratory& lab)
    {
        using enum step::what;
        if (s.type == serve_dead) {
            auto& d = dead_[s.process];
            transact(d.session, std::exchange(d.asked, {}));
            return;
        }
        if (s.type == end_dead) {
            end_session(dead_[s.process].session);
            dead_.erase(dead_.begin() + static_cast<std::ptrdiff_t>(s.process));
            return;
        }
        auto& p = processes_[s.process];
        switch (s.type) {
        case serve_dead:
        case end_dead: break;
        case serve: carry_out(p); break;
        case answer: deliver(s.process, lab); break;
        case fire:
            p.waits = false;
            p.answer = {};
            deliver(s.process, lab);
            break;
        case lose:
            --lost_;
            p.answer = p.asked->type == kind::list ? error_code{colock::errc::disconnected}
                                                   : zookeeper_errc::connection_loss;
            p.names.clear();
            deliver(s.process, lab);
            break;
        case expire:
            --expiries_;
            end_session(p.session);
            p.session = ++sessions_;
            if (p.asked && is_request(p.asked->type) && !p.waits) {
                p.answer = p.asked->type == kind::list ? error_code{colock::errc::disconnected}
                                                       : colock::errc::session_expired;
                p.names.clear();
                deliver(s.process, lab);
            }
            break;
        case die: {
            --deaths_;
            if (lab.rules.lingers) {
                const bool writes = p.asked && p.asked->type == kind::write && !p.served;
                dead_.push_back(
                    {p.session, writes ? p.asked->steps : std::vector<arrival::step>{}});
            } else {
                end_session(p.session);
            }
            const auto passed = p.passed;
            p = {};
            p.session = ++sessions_;
            p.passed = passed; // who comes in its place asks for the phase
            begin(s.process, lab);
            break;
        }
        case refuse:
            --refusals_;
            p.answer = zookeeper_errc::no_auth;
            p.names.clear();
            deliver(s.process, lab);
            break;
        case cancel:
            --cancellations_;
            p.cancelled = true;
            feed(s.process, lab, [&](auto& out) { p.machine->cancel(lab.rules.at_once, out); });
            expect(p.told || lab.rules.processes[s.process] != role::wait,
                   "G4: a wait goes on when it was cancelled");
            break;
        }
    }

    void check_end(const laboratory& lab) const
    {
        const bool all_came =
            lab.rules.cancellations == cancellations_ && lab.rules.refusals == refusals_;
        for (const auto& p : processes_) {
            expect(!all_came || (!p.machine && p.passed == lab.rules.phases),
                   "G4: somebody waits when all have arrived");
            expect(!(p.cancelled || p.failed) || !p.machine,
                   "G4: one that was cancelled or refused does not end");
        }
        for (const auto& [name, of] : nodes_) {
            expect(name.starts_with("phase-") || name == "begun" ||
                       !std::ranges::all_of(processes_, [](auto& p) { return !p.machine; }) ||
                       (name.starts_with("counted-") && phase_ == 0) || is_told_,
                   "G3: an arrival is left");
        }
    }

    void write(std::string& to) const
    {
        const auto put = [&](auto value) { to += static_cast<char>(value); };
        const auto text = [&](const std::string& s) { to += s, put('\0'); };
        for (const auto& p : processes_) {
            to += p.machine ? p.machine->fingerprint() : std::string{"-"};
            put(p.passed);
            put(p.session != 0);
            if (p.asked) {
                put(p.asked->type);
                text(p.asked->name);
                for (const auto& each : p.asked->steps) {
                    put(each.type);
                    text(each.name);
                }
            }
            put(p.served + 2 * p.cancelled + 4 * p.told + 8 * p.waits + 16 * p.failed);
            put(p.answer.value());
            for (const auto& n : p.names) {
                text(n);
            }
            put('|');
        }
        for (const auto& d : dead_) {
            for (const auto& each : d.asked) {
                put(each.type);
                text(each.name);
            }
            put('|');
        }
        for (const auto& [name, of] : nodes_) {
            text(name);
            put(owner(of.session));
        }
        put(directory_ + 2 * lost_);
        put(expiries_ + 16 * refusals_ + 64 * is_told_);
        put(deaths_ + 16 * cancellations_);
    }

private:
    static bool is_request(kind k)
    {
        return k == kind::list || k == kind::write || k == kind::make_directory || k == kind::watch;
    }

    [[nodiscard]] std::size_t owner(std::size_t session) const
    {
        for (std::size_t p = 0; p != processes_.size(); ++p) {
            if (session != 0 && processes_[p].session == session) {
                return p + 1;
            }
        }
        for (std::size_t d = 0; d != dead_.size(); ++d) {
            if (dead_[d].session == session) {
                return processes_.size() + d + 1;
            }
        }
        return 0;
    }

    void begin(std::size_t at, const laboratory& lab)
    {
        auto& p = processes_[at];
        p.told = false;
        arrival::rules rules{.what = lab.rules.processes[at],
                             .count = lab.rules.count,
                             .reusable = lab.rules.reusable};
        if (lab.rules.by_number) {
            rules.phase = p.passed;
        }
        p.machine.emplace(rules, colock::protocol::guid{at, ++guids_[at]});
        feed(at, lab, [&](auto& out) { p.machine->begin(out); });
    }

    void end_session(std::size_t session)
    {
        std::erase_if(nodes_, [&](const auto& n) { return n.second.session == session; });
    }

    void carry_out(process& p)
    {
        const auto& c = *p.asked;
        p.answer = {};
        p.names.clear();
        p.served = true;
        switch (c.type) {
        case kind::list:
            if (!directory_) {
                p.answer = zookeeper_errc::no_node;
            }
            for (const auto& [name, of] : nodes_) {
                p.names.push_back(name);
            }
            break;
        case kind::make_directory: directory_ = true; break;
        case kind::watch:
            if (nodes_.contains(c.name)) {
                p.served = false;
                p.waits = true;
            }
            break;
        case kind::write: p.answer = transact(p.session, c.steps); break;
        default: break; // a pause
        }
    }

    error_code transact(std::size_t session, const std::vector<arrival::step>& steps)
    {
        auto after = nodes_;
        std::size_t removed = 0;
        std::optional<std::uint64_t> begins;
        for (const auto& s : steps) {
            const bool is_there = after.contains(s.name);
            switch (s.type) {
            case arrival::step::kind::create:
            case arrival::step::kind::create_ephemeral:
                if (is_there) {
                    return zookeeper_errc::node_exists;
                }
                if (s.name.starts_with("phase-")) {
                    begins = std::stoull(s.name.substr(6));
                }
                after[s.name] = {s.type == arrival::step::kind::create ? 0 : session};
                break;
            case arrival::step::kind::remove:
                if (!is_there) {
                    return zookeeper_errc::no_node;
                }
                removed += s.name.starts_with("phase-") ? 0u : 1u;
                after.erase(s.name);
                break;
            }
        }
        if (begins && *begins > 0) {
            expect(removed >= count_, "a phase ends before all have arrived");
            expect(*begins == phase_ + 1, "a phase is left out, or ends twice");
            phase_ = *begins;
        }
        nodes_ = std::move(after);
        return {};
    }

    void deliver(std::size_t at, const laboratory& lab)
    {
        auto& p = processes_[at];
        const auto c = *std::exchange(p.asked, std::nullopt);
        p.served = p.waits = false;
        const auto ec = std::exchange(p.answer, {});
        const auto names = std::exchange(p.names, {});
        feed(at, lab, [&](auto& out) {
            if (c.type == kind::list) {
                p.machine->listed(ec, names, out);
            } else {
                p.machine->answered(ec, out);
            }
        });
    }

    template <class Input>
    void feed(std::size_t at, const laboratory& lab, Input input)
    {
        count_ = lab.rules.count;
        auto& p = processes_[at];
        arrival::commands out;
        input(out);
        bool again = false;
        bool cut = false;
        for (auto& c : out) {
            switch (c.type) {
            case kind::done:
                expect(!std::exchange(p.told, true), "contract: two outcomes");
                if (lab.rules.processes[at] == role::count_down) {
                    p.passed = 1;
                } else {
                    expect(c.phase < phase_ || lab.rules.processes[at] == role::look,
                           "goes on before the phase is over");
                    expect(!lab.rules.reusable || c.phase >= p.passed,
                           "goes through a phase twice");
                    p.passed = c.phase + 1;
                }
                again = p.passed < lab.rules.phases;
                break;
            case kind::cancelled:
                expect(p.cancelled, "contract: cancelled by nobody");
                expect(!std::exchange(p.told, true), "contract: two outcomes");
                break;
            case kind::failed:
                if (c.error != zookeeper_errc::no_auth) {
                    throw violation{"fails: " + c.error.message()};
                }
                expect(!std::exchange(p.told, true), "contract: two outcomes");
                p.failed = true;
                break;
            case kind::gone:
                expect(p.told, "contract: gone without an outcome");
                expect(!p.asked, "contract: gone while it asks");
                p.machine.reset();
                break;
            case kind::cut_short: cut = true; break;
            case kind::remains: is_told_ = true; break;
            default:
                expect(!p.asked, "contract: asks two things at a time");
                p.asked = std::move(c);
                break;
            }
        }
        if (cut) {
            p.answer =
                boost::system::errc::make_error_code(boost::system::errc::operation_canceled);
            p.names.clear();
            deliver(at, lab);
        } else if (!p.machine && again && !p.cancelled) {
            begin(at, lab);
        }
    }

    std::vector<process> processes_;
    std::vector<remains> dead_;
    std::map<std::string, node> nodes_;
    std::map<std::size_t, std::uint64_t> guids_;
    bool directory_ = false;
    std::uint64_t phase_ = 0;
    std::size_t sessions_ = 0;
    std::uint32_t count_ = 0;
    int lost_;
    int expiries_;
    int deaths_;
    int refusals_;
    int cancellations_;
    bool is_told_ = false; // that an arrival remains
};

std::string to_string(const world::step& s)
{
    static constexpr std::array names{"is served",
                                      "is answered",
                                      "sees a deletion",
                                      "is served, and dead",
                                      "expires, and is dead",
                                      "loses an answer",
                                      "expires",
                                      "dies",
                                      "is refused",
                                      "is cancelled"};
    return "process " + std::to_string(s.process) + ' ' + names[static_cast<std::size_t>(s.type)];
}

void explore(const scenario& s, std::size_t floor)
{
    using walk = colock::model::depth_first_walk<world, laboratory>;
    colock::model::explore_by<walk>(s, floor);
}

constexpr auto arrives = role::arrive;

} // namespace

BOOST_AUTO_TEST_SUITE(rendezvous)

BOOST_AUTO_TEST_CASE(two_arrive)
{
    explore({}, 300);
    explore({.lost = 2}, 1'500);
}

BOOST_AUTO_TEST_CASE(two_arrive_and_one_dies)
{
    explore({.lost = 1, .deaths = 1}, 3'000);
}

BOOST_AUTO_TEST_CASE(two_arrive_and_one_is_replaced_while_its_session_lives)
{
    explore({.lost = 1, .deaths = 1, .lingers = true}, 15'000);
}

BOOST_AUTO_TEST_CASE(one_counts_down_and_is_replaced_while_its_session_lives)
{
    explore({.processes = {role::wait, role::count_down, arrives}, .deaths = 1, .lingers = true},
            200'001);
}

BOOST_AUTO_TEST_CASE(one_may_not_list)
{
    explore({.processes = {arrives, arrives, arrives}, .refusals = 1}, 30'000);
}

BOOST_AUTO_TEST_CASE(one_may_not_remove_its_arrival)
{
    explore({.refusals = 2}, 600);
    explore({.refusals = 1, .cancellations = 2, .at_once = false}, 2'000);
}

BOOST_AUTO_TEST_CASE(two_arrive_and_sessions_expire)
{
    explore({.lost = 1, .expiries = 2}, 4'000);
}

BOOST_AUTO_TEST_CASE(one_waits_and_one_counts_down)
{
    explore({.processes = {role::wait, role::count_down, arrives}, .lost = 1, .expiries = 1},
            20'000);
}

BOOST_AUTO_TEST_CASE(two_count_down)
{
    explore({.processes = {role::count_down, role::count_down, role::wait}, .lost = 1, .deaths = 1},
            20'000);
}

BOOST_AUTO_TEST_CASE(one_is_cancelled)
{
    explore({.processes = {arrives, arrives, arrives}, .lost = 1, .cancellations = 1}, 150'000);
}

BOOST_AUTO_TEST_CASE(one_is_cancelled_and_leaves_no_trace)
{
    explore({.lost = 1, .expiries = 1, .cancellations = 2, .at_once = false}, 5'000);
}

BOOST_AUTO_TEST_CASE(one_that_waits_is_cancelled)
{
    explore({.processes = {role::wait, arrives, arrives}, .cancellations = 1, .at_once = false},
            10'000);
}

BOOST_AUTO_TEST_CASE(a_barrier_of_two)
{
    explore({.reusable = true, .phases = 3, .lost = 2, .expiries = 1}, 8'000);
}

// By number nobody is left behind, whoever has arrived in whose place.
BOOST_AUTO_TEST_CASE(a_barrier_and_one_is_replaced)
{
    explore(
        {.reusable = true, .phases = 3, .by_number = true, .lost = 1, .deaths = 1, .lingers = true},
        90'000);
}

BOOST_AUTO_TEST_CASE(a_barrier_and_two_are_replaced)
{
    explore({.reusable = true, .phases = 2, .by_number = true, .deaths = 2, .lingers = true},
            300'000);
}

BOOST_AUTO_TEST_CASE(a_barrier_of_three)
{
    explore({.processes = {arrives, arrives, arrives}, .count = 3, .reusable = true, .phases = 2},
            15'000);
}

BOOST_AUTO_TEST_SUITE_END()
