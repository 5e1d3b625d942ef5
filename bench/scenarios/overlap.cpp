// How long the old holder of a lock goes on working beside the next one, when it is cut off, stopped, killed, ...
#include <support/clock_file.hpp>
#include <support/private_network.hpp>
#include <support/subprocess.hpp>
#include <support/tcp_proxy.hpp>
#include <support/temporary_directory.hpp>
#include <support/wait_until.hpp>

#include "arena.hpp"
#include "compare.hpp"
#include "interruption.hpp"
#include "scenario.hpp"
#include "systems/lock_remover.hpp"
#include "systems/stamps.hpp"
#include "systems/worker.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace bench {

namespace {

using colock::test::private_network;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using nanoseconds = std::int64_t;

constexpr milliseconds session{
    4000}; // the least that ZooKeeper's servers grant with their default tick
constexpr milliseconds server_tick{2000};
// The least that leaves `colock run` the time to end a command.
constexpr milliseconds session_of_command{5000};
constexpr milliseconds pause = session_of_command + server_tick; // of who is stopped
constexpr milliseconds patience{12'000};                         // with the next grant
constexpr milliseconds patience_with_elections{40'000};
constexpr milliseconds afterwards{2000}; // after which an old holder that works is not waited for
// Its server serves it for ten seconds when it hears nothing of the others.
constexpr milliseconds afterwards_at_follower{8000};
// A process that runs writes every 75 us or so. What lies further apart is not work that goes on.
constexpr nanoseconds longest_gap = 20'000'000;
// One that gets so much of the processor, now and then.
constexpr milliseconds starved_run{5};
constexpr milliseconds starved_rest{3000};

enum class trouble {
    cut_off,
    reset,
    clock_set_back,
    stopped,
    starved,
    server_stopped,
    leader_cut_off,
    follower_cut_off,
    killed,
    node_deleted
};

// Servers that are cut off from each other are three, each on a host of its own.
constexpr bool needs_network(trouble t)
{
    return t == trouble::leader_cut_off || t == trouble::follower_cut_off;
}

struct trial {
    trouble what;
    std::string_view name;
    std::string_view promise; // who promises nothing, or cannot
};

constexpr trial trials[] = {
    {trouble::cut_off, "cut off, without a word", ""},
    {trouble::reset, "cut off, connection reset", ""},
    {trouble::clock_set_back, "cut off, wall clock set back an hour", ""},
    {trouble::stopped, "stopped for 7 s",
     "no library can win if the process is stopped between its look and its work: here that is a "
     "few of a hundred "
     "microseconds, and a store that checks tokens is what helps"},
    {trouble::starved, "starved: runs 5 ms in 3 s", ""},
    {trouble::server_stopped, "server stopped for 7 s", ""},
    {trouble::leader_cut_off, "leader cut off from the others", ""},
    {trouble::follower_cut_off, "follower cut off from the others", ""},
    {trouble::killed, "killed",
     "what a process has done when it is killed cannot go on; what it has started can"},
    {trouble::node_deleted, "an operator deletes the node", "nobody promises anything"},
};

nanoseconds now()
{
    return steady_clock::now().time_since_epoch().count();
}

nanoseconds count(milliseconds d)
{
    return std::chrono::nanoseconds{d}.count();
}

double in_ms(nanoseconds d)
{
    return static_cast<double>(d) / 1e6;
}

// What came of one holder.
struct result {
    double overlap = 0; // ms
    double writes = 0;
    double idle = 0; // s
};

result compare_stamps(const std::vector<nanoseconds>& old, nanoseconds granted)
{
    result r;
    nanoseconds before = 0;
    for (const auto each : old) {
        if (each <= granted) {
            before = each;
            continue;
        }
        r.writes += 1;
        const auto since = std::max(before, granted);
        if (each - before <= longest_gap) {
            r.overlap += in_ms(each - since);
        }
        if (r.writes == 1) {
            r.idle = each - before > longest_gap ? in_ms(granted - before) / 1000 : 0;
        }
        before = each;
    }
    if (r.writes == 0) {
        r.idle = in_ms(granted - before) / 1000;
    }
    return r;
}

// One system's old holder, and the next one, who waits.
class pair {
public:
    pair(const lock_system& s, trouble what, const arena& where, const run_options& run,
         const std::string& files, const std::string& name)
        : system{s}, what_{what}, way_{needs_network(what) ? where.chosen(s.server)
                                                           : where.hosts(s.server)},
          path_{path_of(s, name)}, old_file_{files + '/' + std::string{s.name} + "-old"},
          next_file_{files + '/' + std::string{s.name} + "-next"}
    {
        stamps::make(old_file_);
        stamps::make(next_file_);
        old_stamps_.emplace(old_file_);
        next_stamps_.emplace(next_file_);
        const peer_options options{.self = run.self,
                                   .log = run.log,
                                   .session_timeout =
                                       s.name == colock_run.name ? session_of_command : session,
                                   .launcher = where.launcher()};
        auto options_of_old = options;
        if (what == trouble::clock_set_back) {
            clock_.emplace(old_file_ + ".clock");
            options_of_old.environment = clock_->environment();
        }
        old_ = make_worker(s, way_.connect_string(), options_of_old, {path_, old_file_});
        next_ = make_worker(s, needs_network(what) ? where.others(s.server) : where.hosts(s.server),
                            options, {path_, next_file_});
    }

    // The one works, the other waits.
    void begin()
    {
        old_->wait_until_ready();
        next_->wait_until_ready();
        old_->begin();
        if (!colock::test::wait_until([&] { return old_stamps_->first() != 0; },
                                      std::chrono::seconds{15})) {
            throw peer_failed{"it is not granted a free lock"};
        }
        if (clock_ && !clock_->asked_by(old_->process())) {
            throw peer_failed{"it does not ask the C library for the time, which is where the "
                              "clock is set back"};
        }
        next_->begin();
    }

    void strike(lock_remover* by)
    {
        began_ = now();
        switch (what_) {
        case trouble::clock_set_back: clock_->set(std::chrono::hours{-1}); [[fallthrough]];
        case trouble::cut_off: way_.stall(true); break;
        case trouble::reset:
            way_.refuse(true);
            way_.cut();
            break;
        case trouble::starved:
        case trouble::stopped: pause_for(what_ == trouble::stopped ? pause : starved_rest); break;
        case trouble::server_stopped:
        case trouble::leader_cut_off:
        case trouble::follower_cut_off: break; // for all
        case trouble::killed: old_->kill(); break;
        case trouble::node_deleted: by->remove_holder(system.server, path_); break;
        }
        struck_ = true;
    }

    // Looks after it; whether it is over.
    bool look()
    {
        if (failure_) {
            return true;
        }
        try {
            attend();
        } catch (const peer_failed& f) {
            if (!was(trouble::killed)) {
                failure_ = f.what();
                return true;
            }
        }
        if (granted_ == 0) {
            granted_ = next_stamps_->first();
        }
        if (granted_ == 0 && !wait_on()) {
            return true;
        }
        const auto over = granted_ != 0 ? std::max(granted_, resumed_) + count(afterwards_)
                                        : std::max(began_, resumed_) + count(patience_);
        return !paused() && now() > over;
    }

    [[nodiscard]] const std::optional<std::string>& failure() const { return failure_; }
    [[nodiscard]] bool granted() const { return granted_ != 0; }
    [[nodiscard]] result outcome() const { return compare_stamps(old_stamps_->all(), granted_); }

    // In its library's words.
    [[nodiscard]] std::string how() const
    {
        if (told_) {
            return *told_;
        }
        if (was(trouble::killed) && !system.runs_commands) {
            return "not at all: it is dead";
        }
        const auto all = old_stamps_->all();
        return all.empty() || all.back() < now() - 20 * longest_gap ? "its command was ended"
                                                                    : "not at all, works on";
    }

    const lock_system system;

private:
    void attend()
    {
        if (paused_until_ != 0) {
            if (now() < paused_until_) {
                return;
            }
            old_->resume();
            paused_until_ = 0;
            resumed_ = now();
        } else if (was(trouble::starved) && granted_ == 0 &&
                   now() > resumed_ + count(starved_run) && now() < began_ + count(patience_)) {
            pause_for(starved_rest);
            return;
        }
        if (auto how = old_->told()) {
            told_ = std::move(how);
        }
    }

    // The next one has lost its place, too, and takes another; false when it cannot.
    bool wait_on()
    {
        try {
            if (next_->told()) {
                next_->begin();
            }
            return true;
        } catch (const peer_failed& f) {
            if (now() < asked_again_ + count(milliseconds{500})) {
                return true;
            }
            asked_again_ = now();
            try {
                next_->begin();
                return true;
            } catch (const peer_failed&) {
                failure_ = f.what();
                return false;
            }
        }
    }

    void pause_for(milliseconds time)
    {
        old_->stop();
        paused_until_ = now() + count(time);
    }
    [[nodiscard]] bool paused() const { return paused_until_ != 0; }

    [[nodiscard]] bool was(trouble what) const { return struck_ && what_ == what; }

    const trouble what_;
    const milliseconds patience_ = needs_network(what_) ? patience_with_elections : patience;
    const milliseconds afterwards_ =
        what_ == trouble::follower_cut_off ? afterwards_at_follower : afterwards;
    colock::test::tcp_proxy way_;                   // of the old holder alone
    std::optional<colock::test::clock_file> clock_; // its
    const std::string path_;
    const std::string old_file_;
    const std::string next_file_;
    std::optional<stamps> old_stamps_;
    std::optional<stamps> next_stamps_;
    std::unique_ptr<worker> old_;
    std::unique_ptr<worker> next_;
    bool struck_ = false;
    nanoseconds began_ = 0;
    nanoseconds paused_until_ = 0;
    nanoseconds resumed_ = 0;
    nanoseconds granted_ = 0;
    nanoseconds asked_again_ = 0;
    std::optional<std::string> told_;
    std::optional<std::string> failure_;
};

// Of a trial, by system.
class tally {
public:
    void add(const pair& p)
    {
        auto& r = all_[std::string{p.system.name}];
        ++r.how[p.how() + (p.granted() ? "" : "; the next one is not granted the lock")];
        if (p.granted()) {
            r.results.push_back(p.outcome());
        }
    }

    void report_to(report& out, const trial& t, int servers) const
    {
        std::string how;
        for (const auto& [system, r] : all_) {
            how += (how.empty() ? "" : "; ") + system + ": ";
            std::string each;
            for (const auto& [text, times] : r.how) {
                each += (each.empty() ? "" : ", ") + text + " (" + std::to_string(times) + ")";
            }
            how += each;
        }
        const auto add = [&](const char* metric, const char* unit, double result::*value) {
            for (const auto& [system, r] : all_) {
                std::vector<double> rounds;
                for (const auto& one : r.results) {
                    rounds.push_back(one.*value);
                }
                if (!rounds.empty()) {
                    const auto* const scenario =
                        system == redis_lock.name ? "overlap_example" : "overlap";
                    out.add({scenario, system, 0, 2, servers, std::string{t.name} + ": " + metric,
                             unit, rounds});
                }
            }
        };
        add("both work", "ms", &result::overlap);
        add("writes of the old one", "writes", &result::writes);
        add("nobody works", "s", &result::idle);
        out.remark(std::string{t.name} + ", how the old holder learned: " + how +
                   (t.promise.empty() ? "" : ". " + std::string{t.promise}));
    }

private:
    struct row {
        std::vector<result> results;
        std::map<std::string, int> how;
    };
    std::map<std::string, row> all_;
};

// With commas between.
template <class Range, class Name>
std::string names_of(const Range& all, Name name)
{
    std::string text;
    for (const auto& each : all) {
        text += (text.empty() ? "" : ", ") + std::string{name(each)};
    }
    return text;
}

std::vector<trial> which(const run_options& run)
{
    std::vector<trial> all;
    std::ranges::copy_if(trials, std::back_inserter(all), [&](const trial& t) {
        return run.troubles.empty() ||
               std::ranges::any_of(run.troubles, [&](const std::string& text) {
                   return t.name.find(text) != std::string_view::npos;
               });
    });
    if (all.empty()) {
        throw std::runtime_error{"--trouble: there are " +
                                 names_of(trials, [](const trial& t) { return t.name; })};
    }
    return all;
}

std::vector<lock_system> who_takes_part(report& out, const run_options& run)
{
    auto all = colock_and_peers();
    all.insert(all.end(), {colock_guarded, colock_run, etcdctl_lock, redis_lock});
    if (!run.systems.empty()) {
        const auto known = all;
        std::erase_if(all, [&](const lock_system& s) {
            return std::ranges::find(run.systems, s.name) == run.systems.end();
        });
        if (all.size() != run.systems.size()) {
            throw std::runtime_error{"--system: there are " +
                                     names_of(known, [](const auto& s) { return s.name; })};
        }
    }
    const auto is_built = [&](const char* program) {
        return std::filesystem::exists(std::filesystem::path{run.self}.parent_path() / program);
    };
    std::erase_if(all, [&](const lock_system& s) {
        std::string why;
        if (s.name == colock_run.name) {
            why = is_built("colock") ? "" : "the program colock is not built";
        } else if (s.name == colock_guarded.name) {
            why = is_built("colock-session-guard") ? "" : "colock-session-guard is not built";
        } else if (s.runs_commands) {
            why = colock::test::find_program(std::string{s.program}).empty()
                      ? "there is no etcdctl (Debian: etcd-client)"
                      : "";
        } else if (launch_command(s, run.self).empty()) {
            why = "it is not built, or its server is not there";
        }
        if (!why.empty()) {
            out.remark("overlap: " + std::string{s.name} + " is left out: " + why);
        }
        return !why.empty();
    });
    return all;
}

// All systems at the same time: most of it is waiting.
void one_round(const trial& t, int round, int rounds, arena& where, const run_options& run,
               std::vector<lock_system>& systems, tally& results, report& out)
{
    const colock::test::temporary_directory files;
    const auto failed = [&](const lock_system& s, const std::string& why) {
        out.remark("overlap, " + std::string{t.name} + ": " + std::string{s.name} +
                   " is left out: " + why);
        std::erase_if(systems, [&](const lock_system& each) { return each.name == s.name; });
    };
    if (needs_network(t.what)) {
        where.restore();
        where.choose(t.what == trouble::leader_cut_off);
    }
    std::vector<std::unique_ptr<pair>> pairs;
    const auto name =
        "overlap-" + std::to_string(static_cast<int>(t.what)) + '-' + std::to_string(round);
    for (const auto& s : std::vector{systems}) {
        try {
            pairs.push_back(std::make_unique<pair>(s, t.what, where, run, files.path(), name));
        } catch (const std::exception& e) {
            failed(s, e.what());
        }
    }
    std::optional<lock_remover> by;
    if (t.what == trouble::node_deleted) {
        by.emplace([&](server_kind kind) { return where.hosts(kind); });
    }
    const auto each = [&](auto what) {
        std::erase_if(pairs, [&](auto& p) {
            try {
                what(*p);
                return false;
            } catch (const std::exception& e) {
                failed(p->system, e.what());
                return true;
            }
        });
    };
    each([](pair& p) { p.begin(); });
    // Until all stand in their queues, and by round at another moment between two heartbeats and two ticks.
    std::this_thread::sleep_for(std::chrono::seconds{1} + server_tick * round / rounds);
    if (t.what == trouble::server_stopped) {
        where.stop_servers();
    } else if (needs_network(t.what)) {
        where.cut_off();
    }
    each([&](pair& p) { p.strike(by ? &*by : nullptr); });
    const auto resume = steady_clock::now() + pause;
    bool servers_run = t.what != trouble::server_stopped;
    for (bool over = false; !over;) {
        std::this_thread::sleep_for(milliseconds{1});
        if (!servers_run && steady_clock::now() > resume) {
            where.resume_servers();
            servers_run = true;
        }
        over = servers_run;
        for (auto& p : pairs) {
            over = p->look() && over;
        }
        try {
            check_interruption();
        } catch (const interrupted&) {
            if (!servers_run) {
                where.resume_servers();
            }
            throw;
        }
    }
    for (auto& p : pairs) {
        if (p->failure()) {
            failed(p->system, *p->failure());
        } else {
            results.add(*p);
        }
    }
}

} // namespace

void overlap(const run_options& options, report& out)
{
    auto run = options;
    run.session_timeout = session;
    const int rounds = options.full ? std::max(options.rounds, 20) : options.rounds;
    const auto wanted = which(run);
    const auto all = who_takes_part(out, run);
    for (const bool network : {false, true}) {
        std::vector<trial> some;
        std::ranges::copy_if(wanted, std::back_inserter(some),
                             [&](const trial& t) { return needs_network(t.what) == network; });
        if (some.empty()) {
            continue;
        }
        if (const auto why = network ? private_network::obstacle() : std::string{}; !why.empty()) {
            out.remark("overlap: not run: " +
                       names_of(some, [](const trial& t) { return t.name; }) + ": " + why);
            continue;
        }
        auto systems = all;
        const auto of_redis = [](const lock_system& s) { return s.server == server_kind::redis; };
        if (network && std::erase_if(systems, of_redis) != 0) {
            out.remark("overlap: redis-lock has one server, which nobody cuts off from others");
        }
        if (systems.empty()) {
            continue;
        }
        arena where{run,
                    {.servers = network ? 3 : 1,
                     .etcd = true,
                     .redis = std::ranges::any_of(systems, of_redis),
                     .apart = network}};
        for (const auto& t : some) {
            auto left = systems;
            tally results;
            for (int round = 0; round != rounds; ++round) {
                one_round(t, round, rounds, where, run, left, results, out);
            }
            results.report_to(out, t, where.servers());
        }
    }
}

} // namespace bench
