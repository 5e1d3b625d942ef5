// The benchmark: colock beside the least that ZooKeeper's client can do, and beside other libraries.
#include "beside.hpp"
#include "environment.hpp"
#include "interruption.hpp"
#include "outputs.hpp"
#include "plots.hpp"
#include "report.hpp"
#include "scenario.hpp"
#include "summary.hpp"
#include "systems/own_system.hpp"
#include "systems/serve.hpp"
#include "systems/stamps.hpp"
#include "targets.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::string_view help =
    R"(colock_bench: colock beside the raw C client and other libraries, on private servers

usage: ./dev bench [options]

  --only SCENARIO  one of uncontended, handover, in_process, linger, many_locks,
                   readers, herd, requests, costs, memory, deep_queue, failover, overlap, shards,
                   idle
  --trouble TEXT   of overlap: only the troubles whose names contain the text. Repeat it for more
  --system NAME    of overlap: only this system. Repeat it for more
  --quick          shorter, for a first look
  --full           longer: more round trips and hold times, servers away for a minute
  --rounds N       rounds of each measurement (5; with --quick 3); what takes long, or
                   hardly varies, has fewer
  --ensemble N     on an ensemble of so many servers, where a scenario asks for nothing else
  --fsync          servers wait for the disk at each write, with their data on it
  --tls            colock over TLS beside colock without it, and nothing else; only uncontended
                   and handover. Both at the same servers, which serve them with Netty
  --json FILE      where the figures go (build/bench/results.json). Beside FILE.json: FILE.md,
                   which begins with where a peer was better, FILE.log, and pictures,
                   FILE-*.svg. FILE.files lists them; other files are never overwritten
  --compare FILE   what became better or worse than in that report (of --json), and what is noise
  --no-targets     measure only; do not hold the figures against what they must reach

For a profiler, on a server of your own (./dev zookeeper):
  --cycles SYSTEM HOSTS N   so many uncontended cycles of colock, raw, raw-tuned,
                            herd-children or herd-holder, and nothing else

bench/README.md tells what each scenario measures, and how the others are configured.
Exit status: 0, or 1 when a target was missed or something failed, or 2 for bad arguments,
or 128 and the signal's number when it was interrupted: what was measured until then is in the JSON.
)";

struct scenario {
    std::string_view name;
    void (*run)(const bench::run_options&, bench::report&);
};

constexpr scenario scenarios[] = {{"uncontended", &bench::uncontended},
                                  {"handover", &bench::handover},
                                  {"in_process", &bench::in_process},
                                  {"linger", &bench::linger},
                                  {"many_locks", &bench::many_locks},
                                  {"readers", &bench::readers},
                                  {"herd", &bench::herd},
                                  {"requests", &bench::requests},
                                  {"costs", &bench::costs},
                                  {"memory", &bench::memory},
                                  {"deep_queue", &bench::deep_queue},
                                  {"failover", &bench::failover},
                                  {"overlap", &bench::overlap},
                                  {"shards", &bench::shards},
                                  {"idle", &bench::idle}};

bool runs_over_tls(std::string_view scenario)
{
    return scenario == "uncontended" || scenario == "handover";
}

struct bad_usage : std::runtime_error {
    using runtime_error::runtime_error;
};

struct arguments {
    bench::run_options run;
    std::string only;
    std::string json;
    std::string compared_with;           // the JSON of an earlier report
    std::string command = "./dev bench"; // as it was given
    bool targets = true;
    bool help = false;
};

// Of what there is, for the message that something else was asked for.
std::string scenario_names()
{
    std::string all;
    for (const auto& s : scenarios) {
        all += (all.empty() ? "" : ", ") + std::string{s.name};
    }
    return all;
}

int number(std::string_view option, std::string_view text)
{
    int value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc{} || end != text.data() + text.size() || value < 1) {
        throw bad_usage{std::string{option} + " takes a whole number from 1, not \"" +
                        std::string{text} + '"'};
    }
    return value;
}

arguments parse(int argc, char** argv)
{
    arguments a;
    a.run.self = std::filesystem::read_symlink("/proc/self/exe");
    // build/PRESET/bin/colock_bench: the results go beside the presets.
    const auto build = std::filesystem::path{a.run.self}.parent_path().parent_path().parent_path();
    a.json = build / "bench/results.json";
    int rounds = 0;
    bool with_tls = false;
    for (int i = 1; i < argc; ++i) {
        if (argv[i] == std::string_view{"--json"}) {
            ++i; // where it goes is nobody's business
        } else {
            a.command += ' ' + std::string{argv[i]};
        }
    }
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        const auto value = [&]() -> std::string_view {
            if (++i == argc) {
                throw bad_usage{std::string{option} + " needs a value"};
            }
            return argv[i];
        };
        if (option == "--quick") {
            a.run.quick = true;
        } else if (option == "--full") {
            a.run.full = true;
        } else if (option == "--only") {
            a.only = value();
            if (a.only.empty()) {
                throw bad_usage{"--only takes a scenario; there are " + scenario_names()};
            }
        } else if (option == "--trouble") {
            a.run.troubles.emplace_back(value());
        } else if (option == "--system") {
            a.run.systems.emplace_back(value());
        } else if (option == "--rounds") {
            rounds = number(option, value());
        } else if (option == "--ensemble") {
            a.run.servers = number(option, value());
        } else if (option == "--fsync") {
            a.run.fsync = true;
        } else if (option == "--tls") {
            with_tls = true;
        } else if (option == "--json") {
            a.json = value();
            if (std::filesystem::path{a.json}.extension() != ".json") {
                throw bad_usage{"--json " + a.json + ": name it .json"};
            }
        } else if (option == "--compare") {
            a.compared_with = value();
        } else if (option == "--no-targets") {
            a.targets = false;
        } else if (option == "--help" || option == "-h") {
            a.help = true;
        } else {
            throw bad_usage{"there is no option \"" + std::string{option} + '"'};
        }
    }
    bool known = a.only.empty();
    for (const auto& s : scenarios) {
        known = known || s.name == a.only;
    }
    if (!known) {
        throw bad_usage{"there is no scenario \"" + a.only + "\"; there are " + scenario_names()};
    }
    if (a.only != "overlap" && !(a.run.troubles.empty() && a.run.systems.empty())) {
        throw bad_usage{"--trouble and --system are for --only overlap"};
    }
    if (a.run.quick && a.run.full) {
        throw bad_usage{"--quick and --full exclude each other"};
    }
    if (with_tls) {
        if (!a.only.empty() && !runs_over_tls(a.only)) {
            throw bad_usage{"--tls is for uncontended and handover"};
        }
        a.run.tls = std::make_shared<const colock::test::certificate_authority>();
        a.run.tls->issue({.name = "client"}); // for the processes that are clients
        ::setenv(bench::tls_files, a.run.tls->directory().c_str(), 1);
    }
    a.run.log = bench::outputs{a.json}.log();
    a.run.rounds = rounds != 0 ? rounds : a.run.quick ? 3 : 5;
    return a;
}

// Who shares the machine has part in the times.
std::string stolen_since(const bench::processor_time& begin)
{
    const auto now = bench::processors();
    const double all = now.all - begin.all;
    std::ostringstream text;
    text << std::setprecision(2) << (all > 0 ? 100 * (now.stolen - begin.stolen) / all : 0)
         << " % of the processors' time, by the hypervisor";
    return text.str();
}

int run(const arguments& a)
{
    bench::report out;
    // Before the figures of this run may take its place.
    const auto earlier =
        a.compared_with.empty() ? bench::report{} : bench::read_report(a.compared_with);
    bench::outputs files{a.json};
    if (std::filesystem::exists(a.json)) {
        static_cast<void>(bench::read_report(a.json)); // else it is of another origin
    }
    files.begin(); // a bad path is better known now than in some minutes
    out.write_json(a.json);
    auto environment = bench::environment(a.run.self); // of now, not of when it ends
    const auto processors = bench::processors();
    const auto begin = std::chrono::steady_clock::now();
    for (const auto& s : scenarios) {
        if ((!a.only.empty() && s.name != a.only) || (a.run.tls && !runs_over_tls(s.name))) {
            continue;
        }
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
        std::printf("\n== %s (after %.0f s)\n", std::string{s.name}.c_str(), passed.count());
        std::fflush(stdout);
        try {
            s.run(a.run, out);
            bench::check_interruption();
        } catch (const bench::interrupted&) {
            out.write_json(a.json);
            throw;
        } catch (const std::exception& failure) {
            out.fail(std::string{s.name} + " failed: " + failure.what());
        }
        out.write_json(a.json); // what there is, should a later one not end
    }
    const auto verdicts = a.targets ? bench::check_targets(out) : std::vector<bench::verdict>{};
    bench::draw_plots(out, files);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    bench::run_facts facts{{"command", "`" + a.command + "`"},
                           {"took", std::to_string(int(taken.count())) + " s"},
                           {"stolen", stolen_since(processors)}};
    std::ranges::move(environment, std::back_inserter(facts));
    auto text = bench::summary(out, verdicts, facts);
    if (!a.compared_with.empty()) {
        const auto name = std::filesystem::path{a.compared_with}.filename().string();
        text.insert(text.find("\n## The run"), '\n' + bench::beside(out, earlier, name));
    }
    const auto page = files.page();
    std::ofstream file{page};
    file << text << std::flush;
    if (!file) {
        throw std::runtime_error{"cannot write " + page.string()};
    }
    // The figures have been shown.
    std::printf("\n%s\nfigures: %s\nsummary: %s\n",
                text.substr(0, text.find("\n## Figures")).c_str(), a.json.c_str(), page.c_str());
    const bool missed = std::ranges::any_of(verdicts, [](const auto& v) { return !v.met; });
    return out.failed() || missed ? 1 : 0;
}

} // namespace

int main(int argc, char** argv)
{
    try {
        if (argc == 5 && argv[1] == std::string_view{"--serve"}) {
            bench::serve(argv[2], argv[3], number("--serve", argv[4]));
            return 0;
        }
        if (argc == 3 && argv[1] == std::string_view{"--stamp"}) {
            bench::append_stamps(argv[2]);
            return 0;
        }
        if (argc == 5 && argv[1] == std::string_view{"--cycles"}) {
            bench::repeat(argv[2], argv[3], number("--cycles", argv[4]));
            return 0;
        }
        const auto a = parse(argc, argv);
        if (a.help) {
            std::cout << help;
            return 0;
        }
        bench::remember_signals();
        return run(a);
    } catch (const bad_usage& mistake) {
        std::cerr << "colock_bench: " << mistake.what() << "; see --help\n";
        return 2;
    } catch (const bench::interrupted& by) {
        std::cerr << "colock_bench: interrupted\n";
        return 128 + by.signal;
    } catch (const std::exception& failure) {
        std::cerr << "colock_bench: " << failure.what() << '\n';
        return 1;
    }
}
