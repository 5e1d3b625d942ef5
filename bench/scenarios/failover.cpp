// From the moment at which the holder is killed, or the leader of the servers, to the next grant.
#include "arena.hpp"
#include "compare.hpp"
#include "interruption.hpp"
#include "scenario.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace bench {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

// The least that ZooKeeper's servers grant with their default tick, and what most clients ask for.
constexpr milliseconds short_session{4000};
constexpr milliseconds usual_session{10'000};
constexpr milliseconds server_tick{2000};
// Twice over what servers wait for one that they have chosen and that does not come up (`initLimit`, 20 s), and for an
// election after that.
constexpr milliseconds patience{60'000};

run_options with_sessions(run_options options, milliseconds timeout, int servers)
{
    options.session_timeout = timeout;
    options.servers = servers;
    return options;
}

// No value: it took longer than the patience, or the process ended. Who was late once has no figure: the median of
// the other rounds would be too good. So nobody waits for it again.
class tally {
public:
    // All but those that were late.
    [[nodiscard]] std::vector<lock_system> left(bool with_guards) const
    {
        auto all = colock_and_peers();
        if (with_guards) {
            all.push_back(colock_guarded);
        }
        std::erase_if(all, [&](const lock_system& s) {
            const auto at = std::ranges::find(all_, s.name, &row::system);
            return at != all_.end() && at->late;
        });
        return all;
    }

    // `failure`: what the process said instead, if it did.
    void add(const std::string& system, std::optional<double> value,
             const std::string& failure = {})
    {
        const auto at = std::ranges::find(all_, system, &row::system);
        auto& r = at != all_.end() ? *at : all_.emplace_back(row{system, {}, false, {}});
        if (value) {
            r.rounds.push_back(*value);
        } else {
            r.late = true;
            r.failure = failure;
        }
    }

    void report_to(report& out, const circumstances& c, const std::string& metric) const
    {
        for (const auto& r : all_) {
            if (r.late) {
                leave_out(out, c.scenario + ", " + metric, r.system,
                          r.failure.empty()
                              ? "no grant within " + std::to_string(patience.count() / 1000) + " s"
                              : r.failure);
            } else {
                out.add(
                    {c.scenario, r.system, c.rtt_ms, c.clients, c.servers, metric, "s", r.rounds});
            }
        }
    }

private:
    struct row {
        std::string system;
        std::vector<double> rounds;
        bool late;
        std::string failure;
    };
    std::vector<row> all_;
};

// What the answer to a lock took since then.
std::optional<double> time_to_grant(peer& p, steady_clock::time_point since, std::string& failure)
{
    try {
        if (p.answer_within("locked", patience)) {
            return seconds{steady_clock::now() - since}.count();
        }
        if (steady_clock::now() - since < patience) {
            failure = "its process has ended";
        }
    } catch (const peer_failed& f) { // as good as too late
        failure = f.what();
    }
    return std::nullopt;
}

// All systems at the same time: nobody works while they wait.
void of_the_holder(const run_options& options, report& out)
{
    const arena where{options, {.servers = options.servers, .etcd = true}};
    tally all;
    const int rounds = std::min(options.rounds, options.full ? 5 : 3);
    for (int round = 0; round != rounds; ++round) {
        field pairs{out, options, where, "failover", all.left(true), 2};
        pairs.warm_up(out, [](field::entrant& e) {
            const auto command = "lock " + path_of(e.system, "failover");
            e.processes->at(0).ask(command, "locked");
            e.processes->at(1).send(command);
        });
        // Until all stand in their queues; and by round at another moment between two heartbeats, and between two
        // ticks, at which the server looks for sessions that are over.
        std::this_thread::sleep_for(std::chrono::seconds{1} + server_tick * round / rounds);
        const auto size = pairs.entrants().size();
        std::vector<std::optional<double>> times(size);
        std::vector<std::string> failures(size);
        std::vector<std::thread> waiting;
        for (std::size_t i = 0; i != size; ++i) {
            auto& two = *pairs.entrants()[i].processes;
            two.at(0).kill();
            waiting.emplace_back(
                [&two, &time = times[i], &failure = failures[i], killed = steady_clock::now()] {
                    time = time_to_grant(two.at(1), killed, failure);
                });
        }
        for (std::size_t i = 0; i != size; ++i) {
            waiting[i].join();
            all.add(std::string{pairs.entrants()[i].system.name}, times[i], failures[i]);
        }
    }
    const std::string sessions =
        options.session_timeout == short_session ? "" : ", sessions of 10 s";
    all.report_to(out, {"failover", 0, 2, options.servers},
                  "holder killed" + sessions + ", until the next grant");
}

using moment = std::atomic<steady_clock::time_point>;

// Takes turns until it is granted one that it asked for behind that moment.
std::optional<double> next_grant(peer& p, const std::string& path, const moment& killed)
{
    for (bool held = false;; held = !held) {
        const auto begin = steady_clock::now();
        const auto since = killed.load();
        if (begin > since + patience) {
            return std::nullopt;
        }
        try {
            p.send((held ? "unlock " : "lock ") + path);
            if (!p.answer_within(held ? "unlocked" : "locked", patience)) {
                return std::nullopt;
            }
            if (!held && begin >= since) {
                return seconds{steady_clock::now() - since}.count();
            }
        } catch (const peer_failed&) {
            // Some give up when the connection breaks. They are asked again, after an unlock that
            // may fail.
            std::this_thread::sleep_for(milliseconds{10});
        } catch (const interrupted&) {
            return std::nullopt; // of_the_leader() tells
        }
    }
}

void of_the_leader(const run_options& options, report& out)
{
    tally all;
    for (int round = 0; round != std::min(options.rounds, options.full ? 5 : 2); ++round) {
        const auto systems = all.left(false);
        // Far away, but not so far that a time could not be added.
        const auto never = steady_clock::now() + std::chrono::hours{1};
        std::map<server_kind, moment> killed; // the leader of those servers
        for (const auto& s : systems) {
            killed.try_emplace(s.server, never);
        }
        arena where{options, {.servers = 3, .etcd = killed.contains(server_kind::etcd)}};
        field contenders{out, options, where, "failover", systems, 1};
        const auto size = contenders.entrants().size();
        std::vector<std::optional<double>> times(size);
        std::vector<std::thread> running;
        for (std::size_t i = 0; i != size; ++i) {
            auto& e = contenders.entrants()[i];
            running.emplace_back([&e, &time = times[i], &when = killed.at(e.system.server)] {
                time = next_grant(e.processes->at(0), path_of(e.system, "failover"), when);
            });
        }
        std::this_thread::sleep_for(std::chrono::seconds{1}); // of turns
        std::exception_ptr failure;
        for (auto& [kind, when] : killed) {
            try {
                where.kill_leader(kind);
            } catch (const std::exception&) {
                failure = std::current_exception();
            }
            when = steady_clock::now();
        }
        for (auto& thread : running) {
            thread.join();
        }
        check_interruption();
        for (std::size_t i = 0; i != size; ++i) {
            all.add(std::string{contenders.entrants()[i].system.name}, times[i]);
        }
        if (failure) {
            std::rethrow_exception(failure);
        }
    }
    all.report_to(out, {"failover", 0, 1, 3}, "leader killed, until the next grant");
}

} // namespace

void failover(const run_options& options, report& out)
{
    for (const int servers : {options.servers, 3}) {
        for (const auto timeout : {short_session, usual_session}) {
            of_the_holder(with_sessions(options, timeout, servers), out);
        }
        if (options.servers == 3) {
            break;
        }
    }
    of_the_leader(with_sessions(options, short_session, options.servers), out);
}

} // namespace bench
