// How long the old holder of a lock goes on working beside the next one, when it is cut off, stopped, killed, ...
#include <support/subprocess.hpp>
#include <support/tcp_proxy.hpp>
#include <support/temporary_directory.hpp>
#include <support/wait_until.hpp>

#include "arena.hpp"
#include "compare.hpp"
#include "interruption.hpp"
#include "scenario.hpp"
#include "systems/coroutines.hpp"
#include "systems/stamps.hpp"
#include "systems/worker.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace bench {

namespace {

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
constexpr milliseconds afterwards{2000}; // after which an old holder that works is not waited for
// A process that runs writes every 75 us or so. What lies further apart is not work that goes on.
constexpr nanoseconds longest_gap = 20'000'000;
// One that gets so much of the processor, now and then.
constexpr milliseconds starved_run{5};
constexpr milliseconds starved_rest{3000};

enum class trouble { cut_off, reset, stopped, starved, server_stopped, killed, node_deleted };

struct trial {
    trouble what;
    std::string_view name;
    std::string_view promise; // who promises nothing, or cannot
};

constexpr trial trials[] = {
    {trouble::cut_off, "cut off, without a word", ""},
    {trouble::reset, "cut off, connection reset", ""},
    {trouble::stopped, "stopped for 7 s",
     "no library can win if the process is stopped between its look and its work: here that is a "
     "few of a hundred "
     "microseconds, and a store that checks tokens is what helps"},
    {trouble::starved, "starved: runs 5 ms in 3 s", ""},
    {trouble::server_stopped, "server stopped for 7 s", ""},
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

// An operator, who has a session of his own.
class operator_client {
public:
    explicit operator_client(const std::string& hosts)
        : zk_{io_.context(), colock::client_options{.hosts = hosts}}
    {
        zk_.async_connect(asio::use_future).get();
    }
    operator_client(const operator_client&) = delete;
    operator_client& operator=(const operator_client&) = delete;
    ~operator_client() { zk_.async_close(asio::use_future).wait(); }

    void delete_first(const std::string& path)
    {
        auto names = zk_.async_children(path, asio::use_future).get().names;
        // They end in ten digits, the number of the turn.
        std::erase_if(names, [](const std::string& n) { return n.size() < 10; });
        const auto first = std::ranges::min_element(
            names, {}, [](const std::string& n) { return n.substr(n.size() - 10); });
        if (first == names.end()) {
            throw peer_failed{"there is no node at " + path};
        }
        zk_.async_remove(path + '/' + *first, asio::use_future).get();
    }

private:
    background io_;
    colock::client zk_;
};

std::string etcdctl(const std::string& hosts, std::vector<std::string> what)
{
    what.insert(what.begin(), {"etcdctl", "--endpoints=" + hosts});
    colock::test::subprocess program{what,
                                     {.environment = {"ETCDCTL_API=3"}, .capture_output = true}};
    const auto line = program.read_line(std::chrono::seconds{5});
    program.wait();
    return line.value_or("");
}

void delete_first_key(const std::string& hosts, const std::string& path)
{
    const auto key =
        etcdctl(hosts, {"get", path, "--prefix", "--sort-by=CREATE", "--limit=1", "--keys-only"});
    if (key.empty() || etcdctl(hosts, {"del", key}) != "1") {
        throw peer_failed{"no key at " + path + " was deleted"};
    }
}

// One system's old holder, and the next one, who waits.
class pair {
public:
    pair(const lock_system& s, const arena& where, const run_options& run, const std::string& files,
         const std::string& what)
        : system{s}, way_{where.hosts(s.server)}, path_{path_of(s, what)},
          old_file_{files + '/' + std::string{s.name} + "-old"}, next_file_{files + '/' +
                                                                            std::string{s.name} +
                                                                            "-next"}
    {
        stamps::make(old_file_);
        stamps::make(next_file_);
        old_stamps_.emplace(old_file_);
        next_stamps_.emplace(next_file_);
        const peer_options options{run.self, run.log,
                                   s.name == colock_run.name ? session_of_command : session};
        old_ = make_worker(s, way_.connect_string(), options, {path_, old_file_});
        next_ = make_worker(s, where.hosts(s.server), options, {path_, next_file_});
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
        next_->begin();
    }

    void strike(trouble what, const arena& where, operator_client* by)
    {
        began_ = now();
        switch (what) {
        case trouble::cut_off: way_.stall(true); break;
        case trouble::reset:
            way_.refuse(true);
            way_.cut();
            break;
        case trouble::starved:
        case trouble::stopped: pause_for(what == trouble::stopped ? pause : starved_rest); break;
        case trouble::server_stopped: break; // for all
        case trouble::killed: old_->kill(); break;
        case trouble::node_deleted:
            if (system.server == server_kind::etcd) {
                delete_first_key(where.hosts(system.server), path_);
            } else {
                by->delete_first(path_);
            }
            break;
        }
        struck_ = what;
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
            if (struck_ != trouble::killed) {
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
        const auto over = granted_ != 0 ? std::max(granted_, resumed_) + count(afterwards)
                                        : std::max(began_, resumed_) + count(patience);
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
        if (struck_ == trouble::killed && !system.runs_commands) {
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
        } else if (struck_ == trouble::starved && granted_ == 0 &&
                   now() > resumed_ + count(starved_run) && now() < began_ + count(patience)) {
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

    colock::test::tcp_proxy way_; // of the old holder alone
    const std::string path_;
    const std::string old_file_;
    const std::string next_file_;
    std::optional<stamps> old_stamps_;
    std::optional<stamps> next_stamps_;
    std::unique_ptr<worker> old_;
    std::unique_ptr<worker> next_;
    std::optional<trouble> struck_;
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
                    out.add({"overlap", system, 0, 2, servers, std::string{t.name} + ": " + metric,
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

std::vector<lock_system> who_takes_part(report& out, const run_options& run)
{
    auto all = colock_and_peers();
    all.push_back(colock_run);
    all.push_back(etcdctl_lock);
    std::erase_if(all, [&](const lock_system& s) {
        std::string why;
        if (s.name == colock_run.name) {
            const auto program = std::filesystem::path{run.self}.parent_path() / "colock";
            why = std::filesystem::exists(program) ? "" : "the program colock is not built";
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
    std::vector<std::unique_ptr<pair>> pairs;
    for (const auto& s : std::vector{systems}) {
        try {
            pairs.push_back(std::make_unique<pair>(s, where, run, files.path(),
                                                   "overlap-" + std::to_string(&t - trials) + '-' +
                                                       std::to_string(round)));
        } catch (const std::exception& e) {
            failed(s, e.what());
        }
    }
    std::optional<operator_client> by;
    if (t.what == trouble::node_deleted) {
        by.emplace(where.hosts(server_kind::zookeeper));
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
    }
    each([&](pair& p) { p.strike(t.what, where, by ? &*by : nullptr); });
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
    const auto all = who_takes_part(out, run);
    arena where{run, {.servers = 1, .etcd = true}};
    for (const auto& t : trials) {
        auto systems = all;
        tally results;
        for (int round = 0; round != rounds; ++round) {
            one_round(t, round, rounds, where, run, systems, results, out);
        }
        results.report_to(out, t, 1);
    }
    out.remark("overlap: not run: the wall clock set back, a leader cut off from the others");
}

} // namespace bench
