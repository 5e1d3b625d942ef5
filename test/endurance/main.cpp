// Many clients and many locks for a long time, and a server that is killed in between: what must not grow, does not.
#include <support/sanitizers.hpp>
#include <support/zookeeper_server.hpp>

#include "figures.hpp"
#include "load.hpp"

#include <boost/program_options.hpp>

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iomanip>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace po = boost::program_options;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using endurance::figures;

// A sanitizer keeps what was freed, and has a heap of its own.
constexpr bool judges_memory = !colock::test::sanitized;

constexpr int laps = 6; // the server is killed in the middle of the fourth

struct settings {
    double minutes = 30;
    endurance::load_options load;
};

double megabytes(std::int64_t bytes)
{
    return static_cast<double>(bytes) / (1 << 20);
}

class run {
public:
    explicit run(const settings& s)
        : settings_{s}, begin_{clock::now()}, server_{{.jvm_flags = {"-Xmx1g"}}}
    {
    }

    bool carry_out()
    {
        const auto before = endurance::measure(server_);
        auto options = settings_.load;
        options.hosts = server_.connect_string();
        {
            endurance::load load{options};
            load.connect();
            std::cout << "time    what          turns  resident MB  heap MB  descriptors  "
                         "connections  watches  ephemerals\n";
            show(load, "connected", endurance::measure(server_));
            load.warm_up();
            show(load, "warm", endurance::measure(server_));
            const auto lap = std::chrono::duration_cast<clock::duration>(
                std::chrono::duration<double, std::ratio<60>>{settings_.minutes} / laps);
            for (int i = 0; i != laps; ++i) {
                go_round(load, lap, i == 3);
            }
            judge(load);
            load.close();
        }
        const auto after = endurance::measure(server_);
        std::cout << "figure: closed: " << after.descriptors - before.descriptors
                  << " descriptors, " << after.connections << " connections, " << after.watches
                  << " watches and " << after.ephemerals << " ephemeral nodes are left\n";
        expect(after.descriptors == before.descriptors, "descriptors are left");
        expect(after.connections == 0, "connections are left");
        expect(after.watches == 0 && after.ephemerals == 0, "something is left at the server");
        return holds_;
    }

private:
    void show(const endurance::load& load, const std::string& what, const figures& f)
    {
        const auto time = std::chrono::duration<double>{clock::now() - begin_}.count();
        std::cout << std::fixed << std::setprecision(0) << std::setw(5) << time << " s "
                  << std::left << std::setw(12) << what << std::right << std::setw(8)
                  << load.counts().granted << std::setprecision(1) << std::setw(13)
                  << megabytes(f.resident) << std::setw(9) << megabytes(f.heap) << std::setw(13)
                  << f.descriptors << std::setw(13) << f.connections << std::setw(9) << f.watches
                  << std::setw(12) << f.ephemerals << std::endl;
    }

    // The load, and then the calm after it: no turn is under way, and no contender is left.
    void go_round(endurance::load& load, clock::duration time, bool with_restart)
    {
        const auto begin = clock::now();
        load.start_lap(time);
        const auto sleep = std::min<clock::duration>(10s, time / 5);
        double watches = 0;
        int samples = 0;
        for (auto next = begin + sleep; next < begin + time; next += sleep) {
            std::this_thread::sleep_until(next);
            if (with_restart && next >= begin + time / 2) {
                with_restart = false;
                server_.kill();
                server_.start();
                show(load, "restarted", endurance::measure(server_));
                continue;
            }
            const auto f = endurance::measure(server_);
            show(load, "load", f);
            watches += static_cast<double>(f.watches);
            ++samples;
        }
        for (const auto limit = clock::now() + 90s; load.under_way() || load.contenders() != 0;) {
            if (clock::now() > limit) {
                throw std::runtime_error{"turns do not end, or contenders are left: " +
                                         std::to_string(load.contenders())};
            }
            std::this_thread::sleep_for(10ms);
        }
        // malloc gives back what it keeps: only what lives is resident then.
        ::malloc_trim(0);
        calm_.push_back(endurance::measure(server_));
        watches_under_load_.push_back(watches / samples);
        show(load, "calm", calm_.back());
    }

    void judge(const endurance::load& load)
    {
        const auto counts = load.counts();
        std::cout << "figure: turns granted: " << counts.granted << ", busy: " << counts.busy
                  << ", without a connection: " << counts.disconnected
                  << ", cancelled: " << counts.cancelled << ", lost: " << counts.lost << '\n';
        for (const auto& [text, number] : counts.errors) {
            std::cout << "figure: " << text << ": " << number << '\n';
        }
        const auto clients = settings_.load.clients;
        std::cout << "figure: sessions: " << load.sessions()
                  << ", connections: " << load.connections() << '\n';
        expect(counts.errors.empty(), "turns ended with errors");
        expect(counts.lost == 0, "locks were lost");
        expect(load.sessions() == clients, "a session did not outlive the restart");
        expect(load.connections() >= 2 * clients, "the restart did not reach all clients");

        const auto& first = calm_.front();
        const auto& last = calm_.back();
        const auto growth = [](std::int64_t from, std::int64_t to) {
            return 100.0 * static_cast<double>(to - from) / static_cast<double>(from);
        };
        std::cout << std::setprecision(2)
                  << "figure: from the calm of the first lap to that of the last: "
                  << "resident memory " << growth(first.resident, last.resident) << " %, heap "
                  << growth(first.heap, last.heap) << " %, descriptors "
                  << last.descriptors - first.descriptors << '\n'
                  << "figure: watches in the calm of each lap:";
        for (const auto& c : calm_) {
            std::cout << ' ' << c.watches;
        }
        std::cout << "\nfigure: watches under the load of each lap:" << std::setprecision(0);
        for (const auto w : watches_under_load_) {
            std::cout << ' ' << w;
        }
        std::cout << '\n';
        // Of a short run, a part of a megabyte is much.
        const auto grows = [&](std::int64_t from, std::int64_t to, double limit) {
            return judges_memory && growth(from, to) > limit && megabytes(to - from) > 0.5;
        };
        expect(!grows(first.resident, last.resident, 5), "resident memory grows");
        expect(!grows(first.heap, last.heap, 2), "the heap grows");
        for (const auto& c : calm_) {
            expect(c.descriptors == first.descriptors, "the number of descriptors changes");
            expect(c.watches == 0, "watches are left in the calm");
            expect(c.ephemerals == 0, "nodes are left in the calm");
        }
    }

    void expect(bool holds, const char* otherwise)
    {
        if (!holds) {
            holds_ = false;
            std::cout << "MISSED " << otherwise << std::endl;
        }
    }

    const settings& settings_;
    clock::time_point begin_;
    colock::test::zookeeper_server server_;
    std::vector<figures> calm_;
    std::vector<double> watches_under_load_;
    bool holds_ = true;
};

// Each client has a descriptor of its own.
void allow_descriptors(std::size_t number)
{
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < number) {
        throw std::runtime_error{"needs " + std::to_string(number) +
                                 " descriptors; see ulimit -Hn"};
    }
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

} // namespace

int main(int argc, char** argv)
{
    settings s;
    po::options_description options{
        "endurance: many clients and locks for a long time, and a server that is killed in "
        "between\n\nusage: ./dev endurance [--minutes N] [...]\n"};
    options.add_options()("help", "prints this")(
        "minutes", po::value(&s.minutes)->default_value(30),
        "for how long")("clients", po::value(&s.load.clients)->default_value(1000), "how many")(
        "locks", po::value(&s.load.locks)->default_value(10'000), "how many, of all kinds")(
        "turns", po::value(&s.load.turns_a_second)->default_value(300),
        "turns of all clients a second, about")("seed", po::value(&s.load.seed)->default_value(1),
                                                "of what clients draw");
    try {
        po::variables_map given;
        po::store(po::parse_command_line(argc, argv, options), given);
        po::notify(given);
        if (given.count("help") != 0) {
            std::cout << options
                      << "\nPrints a line every ten seconds, and at the end what has grown. The "
                         "status is 0 when "
                         "nothing has.\n";
            return 0;
        }
        if (!(s.minutes > 0) || s.load.clients == 0 || s.load.locks == 0 ||
            !(s.load.turns_a_second > 0)) {
            throw po::error{"numbers have to be positive"};
        }
    } catch (const po::error& mistake) {
        std::cerr << "endurance: " << mistake.what() << "; see --help\n";
        return 2;
    }
    try {
        allow_descriptors(s.load.clients + 100);
        run r{s};
        const bool held = r.carry_out();
        std::cout << "endurance: " << s.load.clients << " clients, " << s.load.locks << " locks, "
                  << std::defaultfloat << std::setprecision(6) << s.minutes
                  << " minutes: " << (held ? "flat" : "NOT FLAT") << std::endl;
        return held ? 0 : 1;
    } catch (const std::exception& e) {
        std::cout << "endurance: " << e.what() << std::endl;
        return 1;
    }
}
