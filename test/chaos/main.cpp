// Real servers, real clients, real faults: a lock library on its worst day, for as long as one likes.
#include "checker.hpp"
#include "history.hpp"
#include "interruption.hpp"
#include "remains.hpp"
#include "scene.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <exception>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using namespace chaos;

namespace {

constexpr std::string_view help =
    R"(chaos: three ZooKeeper servers and processes that take turns, under faults

usage: ./dev chaos [--minutes N] [--seed S] [...]

  --minutes N           how long there are faults (3); a calm phase of about a minute follows
  --seed S              the faults, and all that processes draw, come from it (1)
  --faults-a-minute N   how many (20)
  --clients N           processes of colock (5)
  --curators N          processes of Apache Curator, at the same mutex (2)
  --worker PROGRAM      takes the place of colock's process, to see whether the chaos finds what is wrong with it
  --plan                prints the faults, and ends
  --keep DIRECTORY      keeps the journals there; without it they are kept when something is wrong

Prints a line for each fault, and at the end what the journals of the processes prove. The last line is
"chaos: F faults, T turns, V violations, L left behind"; the status is 0 when V and L are 0, and 77 where there can be
no network namespaces. Needs root, and the program ip (Debian: iproute2).
)";

struct settings {
    double minutes = 3;
    std::uint64_t seed = 1;
    int faults_a_minute = 20;
    std::size_t clients = 5, curators = 2;
    std::string keep, worker = COLOCK_CHAOS_WORKER;
    bool plan = false, help = false;
};

struct bad_usage : std::runtime_error {
    using runtime_error::runtime_error;
};

template <class T>
T number(std::string_view option, std::string_view text, T least)
{
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < least) {
        throw bad_usage{std::string{option} + " takes a number, not \"" + std::string{text} + '"'};
    }
    return value;
}

settings parse_arguments(int argc, char** argv)
{
    settings s;
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        const auto value = [&]() -> std::string_view {
            if (++i == argc) {
                throw bad_usage{std::string{option} + " needs a value"};
            }
            return argv[i];
        };
        if (option == "--minutes") {
            s.minutes = number<double>(option, value(), 0.1);
        } else if (option == "--seed") {
            s.seed = number<std::uint64_t>(option, value(), 0);
        } else if (option == "--faults-a-minute") {
            s.faults_a_minute = number<int>(option, value(), 1);
        } else if (option == "--clients") {
            s.clients = number<std::size_t>(option, value(), 1);
        } else if (option == "--curators") {
            s.curators = number<std::size_t>(option, value(), 0);
        } else if (option == "--keep") {
            s.keep = value();
        } else if (option == "--worker") {
            s.worker = value();
        } else if (option == "--plan") {
            s.plan = true;
        } else if (option == "--help") {
            s.help = true;
        } else {
            throw bad_usage{"there is no option \"" + std::string{option} + '"'};
        }
    }
    return s;
}

std::string clock_text(std::chrono::milliseconds t)
{
    std::ostringstream text;
    text << t.count() / 60000 << ':' << std::setw(6) << std::setfill('0') << std::fixed
         << std::setprecision(3) << static_cast<double>(t.count() % 60000) / 1000;
    return text.str();
}

void print_plan(const std::vector<fault>& faults)
{
    for (const auto& f : faults) {
        std::cout << clock_text(f.at) << "  " << name_of(f.kind) << ", for " << f.lasts.count()
                  << " ms\n";
    }
}

// Each client gets turns at each lock again. Which do not.
std::vector<std::string> stuck(scene& s, nanoseconds since, std::chrono::seconds limit)
{
    constexpr std::size_t enough = 2;
    return remains(limit, 500ms, [&] {
        s.go_on();
        std::vector<std::string> found;
        for (const auto& c : s.running()) {
            const auto j = read_journal(c.file, c.process, c.is_colock);
            auto granted = granted_at(j, since);
            for (const std::string lock : {"mutex", "rw", "semaphore"}) {
                if (granted[lock] < enough && (c.is_colock || lock == "mutex")) {
                    found.push_back(c.process + ": " + std::to_string(granted[lock]) +
                                    " turns at " + lock + " within " +
                                    std::to_string(limit.count()) + " s of calm (G4)");
                }
            }
        }
        return found;
    });
}

class run {
public:
    run(const settings& s, const std::vector<fault>& faults)
        : settings_{s}, faults_{faults}, scene_{{.seed = s.seed,
                                                 .colock_clients = s.clients,
                                                 .curator_clients = s.curators,
                                                 .worker = s.worker,
                                                 .curator = COLOCK_CHAOS_CURATOR}}
    {
    }

    int carry_out()
    {
        disturb();
        calm();
        judge();
        return violations_ == 0 && left_behind_ == 0 ? 0 : 1;
    }

private:
    void disturb()
    {
        const auto begin = scene::clock::now();
        const auto elapsed = [&] {
            return std::chrono::duration_cast<std::chrono::milliseconds>(scene::clock::now() -
                                                                         begin);
        };
        for (const auto& f : faults_) {
            while (elapsed() < f.at) {
                scene_.go_on();
                std::this_thread::sleep_for(2ms);
            }
            const auto at = elapsed();
            const auto done = scene_.begin(f);
            if (!done.empty()) {
                ++carried_out_;
                ++by_kind_[f.kind];
            }
            std::cout << std::setw(4) << carried_out_ << "  " << clock_text(at) << " (planned "
                      << clock_text(f.at) << ")  " << name_of(f.kind) << ": "
                      << (done.empty() ? "nobody is left for it" : done) << std::endl;
        }
        const auto end =
            std::chrono::milliseconds{static_cast<std::int64_t>(settings_.minutes * 60000)};
        while (elapsed() < end) {
            scene_.go_on();
            std::this_thread::sleep_for(2ms);
        }
    }

    void violation(const std::string& text)
    {
        ++violations_;
        std::cout << "VIOLATION: " << text << std::endl;
    }

    void left(const std::vector<std::string>& what, const std::string& when)
    {
        left_behind_ += what.size();
        for (const auto& each : what) {
            std::cout << "LEFT BEHIND: " << each << ", " << when << std::endl;
        }
    }

    void calm()
    {
        scene_.calm_down();
        std::cout << "calm: all servers and clients run" << std::endl;
        for (const auto& each : stuck(scene_, now(), 90s)) {
            violation(each);
        }
        for (const auto& each : scene_.silence(60s)) {
            violation(each + ": its turns do not end (G6)");
        }
        left(scene_.nodes(30s), "with no turn under way");
        std::cout << "calm: everybody has had turns again, and is silent" << std::endl;
        for (const auto& each : scene_.finish(60s)) {
            violation(each + ": does not end (G6)");
        }
        left(scene_.nodes(30s), "with all clients closed");
        left(scene_.sessions(30s), "with all clients closed");
    }

    void judge()
    {
        const auto journals = scene_.journals();
        const auto found = check(journals, scene_.accepted(), 3);
        for (const auto& each : found.violations) {
            violation(each);
        }
        for (const auto& each : scene_.complaints()) {
            violation(each);
        }
        const auto history = compare_history(journals, scene_.server_directories());
        for (const auto& each : history.violations) {
            violation(each);
        }
        if (history.lost_from) {
            std::cout << "note: the servers have lost transactions that they had decided, from 0x"
                      << std::hex << *history.lost_from << std::dec
                      << " on (ZOOKEEPER-4643, docs/other-servers.md); until then their histories "
                         "are compared"
                      << std::endl;
        }
        for (const auto& each : scene_.notes()) {
            std::cout << "note: " << each << std::endl;
        }
        if (!settings_.keep.empty() || violations_ + left_behind_ > 0) {
            const auto directory = settings_.keep.empty()
                                       ? std::filesystem::temp_directory_path().string() +
                                             "/colock-chaos-" + std::to_string(settings_.seed) +
                                             '-' + std::to_string(::getpid())
                                       : settings_.keep;
            scene_.keep(directory);
            std::cout << "the journals are in " << directory << std::endl;
        }
        left(scene_.processes(), "in the network");

        for (const auto& [kind, times] : by_kind_) {
            std::cout << "figure: " << name_of(kind) << ": " << times << '\n';
        }
        std::map<std::string, std::size_t> turns;
        for (const auto& j : journals) {
            for (const auto& [lock, number] : granted_at(j)) {
                turns[(j.is_colock ? "colock, " : "Curator, ") + lock] += number;
            }
        }
        for (const auto& [what, number] : turns) {
            std::cout << "figure: turns of " << what << ": " << number << '\n';
        }
        if (const auto& leads = found.leads; !leads.empty()) {
            std::cout << "figure: told before the next was granted: " << leads.size()
                      << " times, by " << static_cast<double>(leads.front()) / 1e9
                      << " s at least and " << static_cast<double>(leads[leads.size() / 2]) / 1e9
                      << " s in the median\n";
        }
        std::cout << "figure: the servers' histories agree with the journals on " << history.agreed
                  << " turns, and have gaps at " << history.in_gaps << '\n';
        std::cout << "figure: " << journals.size() << " processes, " << found.lost
                  << " holders told of a loss, " << scene_.accepted().size()
                  << " writes accepted by the register, " << found.rejected << " refused\n"
                  << "chaos: " << carried_out_ << " faults, " << found.turns << " turns, "
                  << violations_ << " violations, " << left_behind_ << " left behind" << std::endl;
    }

    const settings& settings_;
    const std::vector<fault>& faults_;
    scene scene_;
    std::map<kind, int> by_kind_;
    int carried_out_ = 0;
    std::size_t violations_ = 0, left_behind_ = 0;
};

} // namespace

int main(int argc, char** argv)
{
    settings s;
    try {
        s = parse_arguments(argc, argv);
    } catch (const bad_usage& mistake) {
        std::cerr << "chaos: " << mistake.what() << "; see --help\n";
        return 2;
    }
    if (s.help) {
        std::cout << help;
        return 0;
    }
    if (::access(COLOCK_CHAOS_CURATOR, X_OK) != 0 && s.curators > 0) {
        std::cout << "without Curator, whose program was not built (COLOCK_BUILD_PEERS)\n";
        s.curators = 0;
    }
    try {
        const auto faults =
            plan(s.seed, std::chrono::milliseconds{static_cast<std::int64_t>(s.minutes * 60000)},
                 s.faults_a_minute, s.clients + s.curators);
        if (s.plan) {
            print_plan(faults);
            return 0;
        }
        if (const auto why = network::obstacle(); !why.empty()) {
            std::cout << "skipped: " << why << std::endl;
            return 77;
        }
        await_interruption();
        run r{s, faults};
        return r.carry_out();
    } catch (const interrupted&) {
        std::cout << "chaos: interrupted" << std::endl;
        return 128 + static_cast<int>(interruption);
    } catch (const std::exception& e) {
        std::cout << "chaos: " << e.what() << std::endl;
        return 1;
    }
}
