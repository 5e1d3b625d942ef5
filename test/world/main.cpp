// The simulated world: all of colock, a whole ensemble, one seed.
#include "check/picture.hpp"
#include "world.hpp"

#include <boost/program_options.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <string>

namespace {

namespace po = boost::program_options;

struct summary {
    std::size_t seeds = 0;
    std::size_t violations = 0;
    double simulated = 0; // seconds
    std::uint64_t grants = 0;
    std::uint64_t operations = 0;
    std::size_t troubles = 0;

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
            ("verbose", "print the figures of each seed")                                      //
            ("stop", "run no further seed when one has a violation")                           //
            ("help", "");
        po::store(po::parse_command_line(argc, argv, known), given);
        po::notify(given);
    } catch (const po::error& e) {
        std::cerr << "world: " << e.what() << '\n' << known;
        return 2;
    }
    if (given.count("help") != 0) {
        std::cout << known
                  << "Exit status: 0, or 1 when there was a violation, or 2 for bad arguments.\n";
        return 0;
    }

    world::world_options options;
    options.minutes = given["minutes"].as<unsigned>();
    if (given.count("replay") != 0) {
        options.seed = given["replay"].as<std::uint64_t>();
        return replay(options, given.count("picture") != 0 ? given["picture"].as<std::string>()
                                                           : std::string{});
    }
    auto first = given["from"].as<std::uint64_t>();
    auto count = given["seeds"].as<std::uint64_t>();
    bool verbose = given.count("verbose") != 0;
    if (given.count("seed") != 0) {
        first = given["seed"].as<std::uint64_t>();
        count = 1;
        verbose = true;
    }

    summary sum;
    const auto begun = std::chrono::steady_clock::now();
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        options.seed = seed;
        const auto o = run_one(options);
        sum.add(o);
        if (verbose) {
            std::cout << "seed " << seed << ": history " << std::hex << std::setw(16)
                      << std::setfill('0') << o.hash << std::dec << ", "
                      << world::check::text_of(o.end) << " s, " << o.troubles << " troubles, "
                      << o.operations << " operations, " << o.grants << " grants, "
                      << o.transactions << " transactions, " << o.violations << " violations"
                      << std::endl; // the next seed may crash
        }
        if (o.violations != 0 && given.count("stop") != 0) {
            break;
        }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    std::cout << sum.troubles << " troubles, " << sum.operations << " operations, " << sum.grants
              << " grants\n"
              << std::fixed << std::setprecision(0) << "world: " << sum.seeds << " seeds, "
              << sum.simulated / 60 << " simulated minutes, " << sum.violations << " violations, "
              << sum.simulated / took.count() << " simulated seconds a real second\n";
    return sum.violations == 0 ? 0 : 1;
}
