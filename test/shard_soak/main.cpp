// Shards among processes that are killed, stopped and told to end, and whose server is restarted: for minutes.
#include <support/figures.hpp>

#include "judge.hpp"
#include "plan.hpp"
#include "scene.hpp"

#include <boost/program_options.hpp>

#include <unistd.h>

#include <algorithm>
#include <chaos/interruption.hpp>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace po = boost::program_options;
using namespace std::chrono_literals;
using namespace soak;

namespace {

struct settings {
    double minutes = 10;
    std::uint64_t seed = 1;
    double faults_a_minute = 10;
    scene_settings scene{.worker = COLOCK_SHARD_SOAK_WORKER};
    std::string keep;
};

constexpr limits bounds{.lease = std::chrono::nanoseconds{session + tick}.count(),
                        .slack = std::chrono::nanoseconds{3s}.count()};

std::string in_ms(nanoseconds time)
{
    std::ostringstream text;
    const auto ms = static_cast<double>(time) / 1e6;
    text << std::fixed << std::setprecision(ms < 100 ? 1 : 0) << ms << " ms";
    return text.str();
}

std::string seconds(std::chrono::nanoseconds time)
{
    std::ostringstream text;
    text << std::setprecision(4) << std::chrono::duration<double>{time}.count() << " s";
    return text.str();
}

class run {
public:
    explicit run(const settings& s)
        : settings_{s}, faults_{plan(s.seed, length(), s.faults_a_minute, s.scene.processes)},
          scene_{s.scene}
    {
        std::cout << "all " << s.scene.shards << " shards are owned by " << s.scene.processes
                  << " processes" << std::endl;
    }

    int carry_out()
    {
        disturb();
        const bool calm = scene_.calm_down(90s);
        if (!calm) {
            violation("the shards are not owned, evenly, within 90 s after the last fault");
        }
        const auto left = scene_.finish(60s);
        for (const auto& each : left) {
            std::cout << "LEFT BEHIND: " << each << std::endl;
        }
        const auto found = judge(scene_.what_happened(), bounds);
        for (const auto& each : found.violations) {
            violation(each);
        }
        for (const auto& each : scene_.complaints()) {
            violation(each);
        }
        keep(!left.empty());
        print(found, left.size());
        return violations_ == 0 && left.empty() ? 0 : 1;
    }

private:
    [[nodiscard]] std::chrono::milliseconds length() const
    {
        return std::chrono::milliseconds{static_cast<std::int64_t>(settings_.minutes * 60'000)};
    }

    void disturb()
    {
        const auto begin = scene::clock::now();
        const auto wait_until = [&](std::chrono::milliseconds at) {
            while (scene::clock::now() < begin + at) {
                scene_.go_on();
                std::this_thread::sleep_for(2ms);
            }
        };
        for (const auto& f : faults_) {
            wait_until(f.at);
            const auto done = scene_.begin(f);
            if (!done.empty()) {
                ++by_kind_[f.kind];
                std::cout << std::setw(9) << seconds(scene::clock::now() - begin) << "  " << done
                          << std::endl;
            }
        }
        wait_until(length());
    }

    void violation(const std::string& text)
    {
        ++violations_;
        std::cout << "VIOLATION: " << text << std::endl;
    }

    void keep(bool is_wrong) const
    {
        if (settings_.keep.empty() && !is_wrong && violations_ == 0) {
            return;
        }
        const auto directory = settings_.keep.empty()
                                   ? std::filesystem::temp_directory_path().string() +
                                         "/colock-shard-soak-" + std::to_string(settings_.seed) +
                                         '-' + std::to_string(::getpid())
                                   : settings_.keep;
        scene_.keep(directory);
        std::cout << "the journals are in " << directory << std::endl;
    }

    static void row(const std::string& what, const std::vector<nanoseconds>& times,
                    const std::string& target = {})
    {
        std::cout << "figure: " << std::left << std::setw(66) << what << std::right << std::setw(7)
                  << times.size();
        if (!times.empty()) {
            const std::vector<double> values(times.begin(), times.end());
            std::cout << std::setw(12)
                      << in_ms(static_cast<nanoseconds>(colock::test::quantile(values, 0.5)))
                      << std::setw(12) << in_ms(std::ranges::max(times));
        }
        std::cout << (target.empty() ? "" : "  target: ") << target << '\n';
    }

    template <class Map, class Key>
    static std::vector<nanoseconds> of(const Map& all, const Key& key)
    {
        const auto found = all.find(key);
        return found == all.end() ? std::vector<nanoseconds>{} : found->second;
    }

    void print(const findings& found, std::size_t left)
    {
        std::cout << "\nfigure: " << std::left << std::setw(66) << "time without an owner"
                  << std::right << std::setw(7) << "number" << std::setw(12) << "median"
                  << std::setw(12) << "max" << '\n';
        const auto recovered = of(found.recoveries, true);
        const auto handed_on = of(found.gaps, kind_of_gap{cause::left, true});
        row("kill -9, until all shards of the process are owned again", recovered, "at most 1 s");
        row("the same, while others are stopped or the server is away",
            of(found.recoveries, false));
        row("SIGTERM, of a shard", handed_on, "median at most 20 ms");
        row("the same, while others are stopped or the server is away",
            of(found.gaps, kind_of_gap{cause::left, false}));
        row("a process joins, of a shard that moves",
            of(found.gaps, kind_of_gap{cause::moved, true}));
        row("the same, while others are stopped or the server is away",
            of(found.gaps, kind_of_gap{cause::moved, false}));
        for (const bool alone : {true, false}) {
            row(std::string{"SIGSTOP beyond the session, of a shard"} +
                    (alone ? "" : ", others are stopped, too"),
                of(found.gaps, kind_of_gap{cause::stopped, alone}));
        }
        auto cut_off = of(found.gaps, kind_of_gap{cause::cut_off, false});
        std::ranges::copy(of(found.gaps, kind_of_gap{cause::cut_off, true}),
                          std::back_inserter(cut_off));
        row("no answer from the server, of a shard", cut_off);
        std::cout
            << "the longest: " << found.longest_of
            << "\nthe bound is the session's time-out and a tick of the server for each fault, "
            << seconds(session + tick) << ": for so long the server waits for a process that is "
            << "stopped; and " << seconds(std::chrono::nanoseconds{bounds.slack})
            << ", and as long as the server is away\n";
        for (const auto& w : found.refused) {
            std::cout << "refused by the fence: shard " << w.shard << ", " << w.process
                      << ", which was stopped: " << in_ms(w.at - w.bound) << " after its bound\n";
        }
        std::size_t faults = 0;
        for (const auto& [kind, times] : by_kind_) {
            std::cout << "figure: " << name_of(kind) << ": " << times << '\n';
            faults += static_cast<std::size_t>(times);
        }
        std::cout << "figure: " << found.turns << " turns; " << writes(found) << '\n';
        // A machine that does other work misses them.
        const bool met =
            (recovered.empty() || std::ranges::max(recovered) <= 1'000'000'000) &&
            (handed_on.empty() ||
             colock::test::quantile(std::vector<double>(handed_on.begin(), handed_on.end()), 0.5) <=
                 20e6);
        std::cout << (met ? "" : "MISSED a target of time\n")
                  << "shards: " << settings_.scene.shards << " shards, "
                  << settings_.scene.processes << " processes, " << settings_.minutes
                  << " minutes, " << faults << " faults, " << violations_ << " violations, " << left
                  << " left behind: " << (violations_ == 0 && left == 0 ? "held" : "NOT HELD")
                  << (met ? ", targets met" : ", targets missed") << std::endl;
    }

    [[nodiscard]] static std::string writes(const findings& found)
    {
        return std::to_string(found.writes) + " writes, " + std::to_string(found.late) +
               " of them late, all by processes that were stopped; " +
               std::to_string(found.refused.size()) + " refused by the fence";
    }

    const settings& settings_;
    const std::vector<fault> faults_;
    scene scene_;
    std::map<kind, int> by_kind_;
    std::size_t violations_ = 0;
};

} // namespace

int main(int argc, char** argv)
{
    settings s;
    po::options_description options{
        "shards: 512 shards among 20 processes that are killed, stopped and told to end, and whose "
        "server is restarted\n\nusage: ./dev shards [--minutes N] [...]\n"};
    options.add_options()("help", "prints this")(
        "minutes", po::value(&s.minutes)->default_value(10),
        "how long there are faults")("seed", po::value(&s.seed)->default_value(1), "of the faults")(
        "shards", po::value(&s.scene.shards)->default_value(512),
        "how many")("processes", po::value(&s.scene.processes)->default_value(20), "how many")(
        "faults-a-minute", po::value(&s.faults_a_minute)->default_value(10), "how many")(
        "keep", po::value(&s.keep), "a directory for journals; without it, only of a failure");
    try {
        po::variables_map given;
        po::store(po::parse_command_line(argc, argv, options), given);
        po::notify(given);
        if (given.count("help") != 0) {
            std::cout
                << options
                << "\nPrints a line for each fault, then a table. The status is 0 when nothing "
                   "was violated, and nothing is left. Times are no part of that.\n";
            return 0;
        }
        if (!(s.minutes > 0) || !(s.faults_a_minute > 0) || s.scene.shards == 0 ||
            s.scene.processes < 2) {
            throw po::error{"numbers have to be positive, and there have to be two processes"};
        }
    } catch (const po::error& mistake) {
        std::cerr << "shards: " << mistake.what() << "; see --help\n";
        return 2;
    }
    try {
        chaos::await_interruption();
        run r{s};
        return r.carry_out();
    } catch (const chaos::interrupted&) {
        std::cout << "shards: interrupted" << std::endl;
        return 128 + static_cast<int>(chaos::interruption);
    } catch (const std::exception& e) {
        std::cout << "shards: " << e.what() << std::endl;
        return 1;
    }
}
