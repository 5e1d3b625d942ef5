// 512 shards among members: what happens when one more comes, leaves, or is killed. colock beside kazoo's SetPartitioner.
#include <support/temporary_directory.hpp>

#include "arena.hpp"
#include "compare.hpp"
#include "interruption.hpp"
#include "scenario.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace bench {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using nanoseconds = std::int64_t;

constexpr int shard_count = 512;
constexpr int most_processes = 10; // with all members but the one that comes and goes
constexpr milliseconds usual_session{10'000};
constexpr std::chrono::seconds patience{180};
constexpr std::chrono::seconds silence{2}; // after which nothing more is expected to move

nanoseconds now()
{
    return steady_clock::now().time_since_epoch().count();
}

// Who owned a shard, and from when to when.
struct turn {
    std::string owner;
    nanoseconds began;
    std::optional<nanoseconds> ended = {};
};

// What all members of a system have noted.
class notes {
public:
    // Another process has the file from now on.
    void follow(const std::string& file)
    {
        files_.push_back(std::make_unique<std::ifstream>(file));
    }

    void read()
    {
        for (auto& file : files_) {
            for (std::string rest; std::getline(*file, rest);) {
                if (file->eof()) { // no whole line yet
                    file->clear();
                    file->seekg(-static_cast<std::streamoff>(rest.size()), std::ios::cur);
                    break;
                }
                take(rest);
            }
            file->clear();
        }
    }

    // A process was killed, which did not note it.
    void end_of(const std::string& owner, nanoseconds at)
    {
        for (auto& [shard, turns] : turns_) {
            for (auto& t : turns) {
                if (t.owner == owner && !t.ended) {
                    t.ended = at;
                }
            }
        }
    }

    // Whether so many members own all shards, evenly.
    [[nodiscard]] bool is_even(int members) const
    {
        std::map<std::string, int> numbers;
        int all = 0;
        for (const auto& [shard, turns] : turns_) {
            for (const auto& t : turns) {
                if (!t.ended) {
                    ++numbers[t.owner];
                    ++all;
                }
            }
        }
        return all == shard_count && numbers.size() == static_cast<std::size_t>(members) &&
               std::ranges::all_of(numbers, [&](const auto& each) {
                   return each.second >= shard_count / members &&
                          each.second <= shard_count / members + 1;
               });
    }
    [[nodiscard]] nanoseconds last() const { return last_; }

    struct change {
        double mean = 0;    // time without an owner, of all shards, in seconds
        double longest = 0; // in seconds
        double interrupted = 0;
        double moved = 0;
        double until_done = 0; // in seconds
    };
    [[nodiscard]] change since(nanoseconds begin) const
    {
        change c;
        c.until_done = double(last_ - begin) / 1e9;
        for (const auto& [shard, turns] : turns_) {
            std::string before;
            nanoseconds free_since = 0;
            nanoseconds without = 0;
            bool interrupted = false;
            for (const auto& t : turns) {
                if (t.ended && *t.ended < begin) {
                    continue;
                }
                if (before.empty()) {
                    before = t.owner;
                } else {
                    without += t.began - free_since;
                    interrupted = true;
                }
                if (t.ended) {
                    free_since = *t.ended;
                } else {
                    c.moved += t.owner != before ? 1 : 0;
                }
            }
            c.mean += double(without) / 1e9 / shard_count;
            c.longest = std::max(c.longest, double(without) / 1e9);
            c.interrupted += interrupted ? 1 : 0;
        }
        return c;
    }

private:
    void take(const std::string& line)
    {
        std::istringstream words{line};
        nanoseconds at = 0;
        std::string what;
        std::string shard;
        std::string owner;
        words >> at >> what >> shard >> owner;
        auto& turns = turns_[shard];
        last_ = std::max(last_, at);
        if (what == "began") {
            turns.push_back({owner, at});
            std::ranges::sort(turns, {}, &turn::began);
            return;
        }
        for (auto& t : turns) {
            if (t.owner == owner && !t.ended && t.began <= at) {
                t.ended = at;
            }
        }
    }

    std::vector<std::unique_ptr<std::ifstream>> files_;
    std::map<std::string, std::vector<turn>>
        turns_; // of each shard, in the order in which they began
    nanoseconds last_ = 0;
};

// One system with so many members, and one that comes and goes.
class company {
public:
    company(const lock_system& s, int members, const run_options& run)
        : system_{s}, members_{members}, run_{run}, where_{
                                                        run,
                                                        {.servers = run.servers, .proxied = true}}
    {
        const int processes = std::min(members, most_processes);
        for (int i = 0; i != processes; ++i) {
            start(members / processes + (i < members % processes ? 1 : 0));
        }
        settle(members, now());
    }

    struct result {
        notes::change change;
        double requests = 0;
        double notifications = 0;
    };

    result join()
    {
        return after(members_ + 1, [this] { start(1); });
    }

    result leave()
    {
        return after(members_, [this] {
            all_.back()->ask("leave", "left");
            all_.pop_back();
        });
    }

    result die()
    {
        return after(members_, [this] {
            const auto at = now();
            all_.back()->kill();
            notes_.read();
            notes_.end_of(last_name_, at);
            all_.pop_back();
        });
    }

private:
    void start(int members)
    {
        const auto file = files_.path() + '/' + std::to_string(++files_made_);
        std::ofstream{file}.flush();
        notes_.follow(file);
        auto& p = all_.emplace_back(std::make_unique<peer>(
            system_, where_.hosts(system_.server),
            peer_options{
                .self = run_.self, .log = run_.log, .session_timeout = run_.session_timeout}));
        p->wait_until_ready();
        const auto settle = system_.name == kazoo_quick.name ? "1000" : "0";
        p->ask("share /bench/" + std::string{system_.name} + ' ' + std::to_string(shard_count) +
                   ' ' + std::to_string(members) + ' ' + settle + ' ' + file,
               "sharing");
        last_file_ = file;
    }

    template <class What>
    result after(int members, What what)
    {
        last_name_ = name_in(last_file_);
        const auto before = where_.seen();
        const auto begin = now();
        what();
        settle(members, begin);
        const auto then = where_.seen();
        return {notes_.since(begin), double(then.requests - before.requests),
                double(then.notifications - before.notifications)};
    }

    // Of the only member that writes to it.
    static std::string name_in(const std::string& file)
    {
        std::ifstream in{file};
        std::string word;
        in >> word >> word >> word >> word;
        return word;
    }

    void settle(int members, nanoseconds since)
    {
        const auto limit = steady_clock::now() + patience;
        for (;;) {
            check_interruption();
            notes_.read();
            const bool quiet =
                now() > std::max(since, notes_.last()) + std::chrono::nanoseconds{silence}.count();
            if (quiet && notes_.is_even(members)) {
                return;
            }
            if (steady_clock::now() > limit) {
                throw peer_failed{"its members do not own all shards, evenly, within " +
                                  std::to_string(patience.count()) + " s"};
            }
            std::this_thread::sleep_for(milliseconds{20});
        }
    }

    const lock_system& system_;
    const int members_;
    const run_options& run_;
    arena where_;
    colock::test::temporary_directory files_;
    int files_made_ = 0;
    std::string last_file_;
    std::string last_name_;
    notes notes_;
    std::vector<std::unique_ptr<peer>> all_;
};

class tally {
public:
    void add(const std::string& event, const company::result& r)
    {
        const auto note = [&](const std::string& metric, const std::string& unit, double value) {
            const auto name = event + ": " + metric;
            const auto at = std::ranges::find(all_, name, &row::metric);
            auto& of = at != all_.end() ? *at : all_.emplace_back(row{name, unit, {}});
            of.rounds.push_back(value);
        };
        note("time without an owner, mean of all shards", "s", r.change.mean);
        note("time without an owner, the longest", "s", r.change.longest);
        note("shards that had no owner for a while", "shards", r.change.interrupted);
        note("shards that have another owner", "shards", r.change.moved);
        note("until all is done", "s", r.change.until_done);
        note("requests", "requests", r.requests);
        note("notifications", "notifications", r.notifications);
    }

    void report_to(report& out, const std::string& system, const circumstances& c) const
    {
        for (const auto& r : all_) {
            out.add(
                {c.scenario, system, c.rtt_ms, c.clients, c.servers, r.metric, r.unit, r.rounds});
        }
    }

private:
    struct row {
        std::string metric;
        std::string unit;
        std::vector<double> rounds;
    };
    std::vector<row> all_;
};

} // namespace

// Nobody else runs meanwhile: what is counted is that of one system. The members have their defaults.
void shards(const run_options& options, report& out)
{
    auto run = options;
    run.session_timeout = usual_session;
    const int rounds = options.full ? std::min(options.rounds, 3) : 1;
    for (const int members : options.quick ? std::vector{5} : std::vector{5, 20, 100}) {
        for (const auto& system : {kazoo_system, kazoo_quick, colock_system, colock_guarded}) {
            tally all;
            try {
                for (int round = 0; round != rounds; ++round) {
                    company c{system, members, run};
                    all.add("join", c.join());
                    all.add("leave", c.leave());
                    static_cast<void>(c.join());
                    all.add("kill", c.die());
                }
            } catch (const peer_failed& failure) {
                leave_out(out, "shards, " + std::to_string(members) + " members", system.program,
                          std::string{system.name} + ": " + failure.what());
            }
            all.report_to(out, std::string{system.name}, {"shards", 0, members, options.servers});
        }
    }
}

} // namespace bench
