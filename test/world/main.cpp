// The simulated world: all of colock, a whole ensemble, one seed.
#include "check/picture.hpp"
#include "world.hpp"

#include <boost/program_options.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace po = boost::program_options;

struct summary {
    std::size_t seeds = 0;
    std::size_t violations = 0;
    double simulated = 0; // seconds
    std::uint64_t grants = 0;
    std::uint64_t operations = 0;
    std::size_t troubles = 0;
    bool found = false; // what the run was to go on for

    void add(const summary& other)
    {
        seeds += other.seeds;
        violations += other.violations;
        simulated += other.simulated;
        grants += other.grants;
        operations += other.operations;
        troubles += other.troubles;
        found |= other.found;
    }
    void add(const world::outcome& o)
    {
        ++seeds;
        violations += o.violations;
        simulated += std::chrono::duration<double>{o.end}.count();
        grants += o.grants;
        operations += o.operations;
        troubles += o.troubles;
    }
};

struct habits {
    bool verbose;
    bool stops;        // at a violation
    std::string until; // stops when this check finds something, and only then
};

// Whether the run ends with this world.
bool ends(const world::outcome& o, const habits& how)
{
    if (how.until.empty()) {
        return o.violations != 0 && how.stops;
    }
    return std::ranges::any_of(o.first, [&](const auto& v) { return v.check == how.until; });
}

void report(const world::outcome& o)
{
    for (const auto& v : o.first) {
        std::cout << "violation: seed " << o.seed << ", at " << world::check::text_of(v.when)
                  << " s, " << v.check << ": " << v.seen << '\n';
    }
}

world::outcome run_one(const world::world_options& options)
{
    world::simulation s{options};
    auto o = s.run();
    report(o);
    return o;
}

int replay(world::world_options options, const std::string& picture)
{
    options.keeps_journal = true;
    world::simulation s{options};
    const auto o = s.run();
    s.journal().print(std::cout);
    report(o);
    std::cout << "history " << std::hex << std::setw(16) << std::setfill('0') << o.hash << '\n';
    if (!picture.empty()) {
        std::ofstream out{picture};
        world::check::draw(out, s.journal());
        if (!out.flush()) {
            std::cerr << "world: cannot write " << picture << '\n';
            return 2;
        }
    }
    return o.violations == 0 ? 0 : 1;
}

void describe(const world::outcome& o)
{
    std::cout << "seed " << o.seed << ": history " << std::hex << std::setw(16) << std::setfill('0')
              << o.hash << std::dec << ", " << world::check::text_of(o.end) << " s, " << o.troubles
              << " troubles, " << o.operations << " operations, " << o.grants << " grants, "
              << o.transactions << " transactions, " << o.violations << " violations\n";
}

// Ctrl-C: the seeds that are under way are the last ones, and the figures are printed.
volatile std::sig_atomic_t interrupted = 0;

summary run_some(world::world_options options, std::uint64_t first, std::uint64_t end,
                 std::uint64_t step, const habits& how)
{
    summary sum;
    for (auto seed = first; seed < end && interrupted == 0; seed += step) {
        options.seed = seed;
        const auto o = run_one(options);
        sum.add(o);
        if (how.verbose) {
            describe(o);
        }
        std::cout.flush(); // the next seed may crash
        if (ends(o, how)) {
            sum.found = true;
            break;
        }
    }
    return sum;
}

// Worlds share nothing but the process that they are in, so each job is one.
summary run_all(const world::world_options& options, std::uint64_t first, std::uint64_t count,
                unsigned jobs, const habits& how)
{
    if (jobs <= 1) {
        return run_some(options, first, first + count, 1, how);
    }
    std::vector<std::pair<pid_t, int>> children;
    for (unsigned j = 0; j < jobs; ++j) {
        int ends[2];
        if (::pipe(ends) != 0) {
            throw std::runtime_error{"no pipe"};
        }
        const auto child = ::fork();
        if (child == 0) {
            ::close(ends[0]);
            const auto sum = run_some(options, first + j, first + count, jobs, how);
            const bool told = ::write(ends[1], &sum, sizeof sum) == sizeof sum;
            std::_Exit(told ? 0 : 2);
        }
        ::close(ends[1]);
        children.emplace_back(child, ends[0]);
    }
    summary all;
    for (const auto& [child, end] : children) {
        summary one;
        int status = 0;
        const bool told = ::read(end, &one, sizeof one) == sizeof one;
        ::close(end);
        ::waitpid(child, &status, 0);
        if (!told || status != 0) {
            std::cout << "violation: a process that ran worlds has ended badly\n";
            ++all.violations;
        }
        all.add(one);
    }
    return all;
}

int run_list(const std::string& path)
{
    std::ifstream list{path};
    if (!list) {
        std::cerr << "world: cannot read " << path << '\n';
        return 2;
    }
    std::size_t violations = 0;
    for (std::string line; std::getline(list, line);) {
        world::world_options options;
        std::istringstream words{line};
        if (line.starts_with('#') || !(words >> options.seed >> options.minutes)) {
            continue;
        }
        if (std::string word; words >> word && word == "--rare" && words >> word) {
            options.rare = world::rarity_named(word);
        }
        const auto o = run_one(options);
        describe(o);
        violations += o.violations;
    }
    return violations == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv)
{
    po::options_description known{"usage: ./dev world [options]"};
    po::variables_map given;
    try {
        known.add_options()                                                                    //
            ("seed", po::value<std::uint64_t>(), "run this seed, and print its figures")       //
            ("seeds", po::value<std::uint64_t>()->default_value(100), "run so many seeds")     //
            ("from", po::value<std::uint64_t>()->default_value(1), "the first of them")        //
            ("minutes", po::value<unsigned>()->default_value(1), "simulated minutes of each")  //
            ("replay", po::value<std::uint64_t>(), "print the history of this seed")           //
            ("picture", po::value<std::string>(), "draw the history that is replayed, as SVG") //
            ("thronged", "thousands of clients")                                               //
            ("too-small-ticks", "clients expect shorter ticks than the servers have")          //
            ("rare", po::value<std::string>(),
             "only worlds with this: none, uneven, together, watches, permissions, guards, stalls, "
             "late, alone, bodies, throttled, writes, shards, rendezvous")                //
            ("regressions", po::value<std::string>(), "run the seeds of this list")       //
            ("jobs", po::value<unsigned>()->default_value(1), "so many at the same time") //
            ("verbose", "print the figures of each seed")                                 //
            ("stop", "run no further seed when one has a violation")                      //
            ("until", po::value<std::string>()->default_value(""),
             "run until this check finds something, and fail if it does not") //
            ("help", "");
        po::store(po::parse_command_line(argc, argv, known), given);
        po::notify(given);
    } catch (const po::error& e) {
        std::cerr << "world: " << e.what() << '\n' << known;
        return 2;
    }
    if (given.count("help") != 0) {
        std::cout
            << known
            << "Ctrl-C ends it after the present seed, with the figures of those that were run.\n"
               "Exit status: 0, or 1 when there was a violation, or 2 for bad arguments.\n";
        return 0;
    }

    world::world_options options;
    options.minutes = given["minutes"].as<unsigned>();
    options.thronged = given.count("thronged") != 0;
    if (given.count("rare") != 0) {
        options.rare = world::rarity_named(given["rare"].as<std::string>());
        if (!options.rare) {
            std::cerr << "world: --rare has no such name\n" << known;
            return 2;
        }
    }
    options.too_small_ticks = given.count("too-small-ticks") != 0;
    if (given.count("replay") != 0) {
        options.seed = given["replay"].as<std::uint64_t>();
        return replay(options, given.count("picture") != 0 ? given["picture"].as<std::string>()
                                                           : std::string{});
    }
    if (given.count("regressions") != 0) {
        return run_list(given["regressions"].as<std::string>());
    }
    auto first = given["from"].as<std::uint64_t>();
    auto count = given["seeds"].as<std::uint64_t>();
    bool verbose = given.count("verbose") != 0;
    if (given.count("seed") != 0) {
        first = given["seed"].as<std::uint64_t>();
        count = 1;
        verbose = true;
    }

    std::signal(SIGINT, [](int) { interrupted = 1; });
    const auto jobs = given["jobs"].as<unsigned>();
    const auto begun = std::chrono::steady_clock::now();
    const habits how{verbose, given.count("stop") != 0, given["until"].as<std::string>()};
    const auto sum = run_all(options, first, count, jobs, how);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    std::cout << sum.troubles << " troubles, " << sum.operations << " operations, " << sum.grants
              << " grants\n"
              << std::fixed << std::setprecision(0) << "world: " << sum.seeds << " seeds, "
              << sum.simulated / 60 << " simulated minutes, " << sum.violations << " violations, "
              << sum.simulated / took.count() << " simulated seconds a real second\n";
    return (how.until.empty() ? sum.violations == 0 : sum.found) ? 0 : 1;
}
