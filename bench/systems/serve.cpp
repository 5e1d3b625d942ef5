#include "serve.hpp"

#include "own_system.hpp"
#include "runner.hpp"

#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <numeric>
#include <optional>
#include <sstream>

namespace bench {

namespace {

using std::chrono::milliseconds;

double microseconds(clock::duration d)
{
    return std::chrono::duration<double, std::micro>{d}.count();
}

double mean(const std::vector<double>& values)
{
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The rest of a command.
class words {
public:
    explicit words(const std::string& line) : in_{line} {}

    std::string text()
    {
        std::string word;
        if (!(in_ >> word)) {
            throw std::runtime_error{"an argument is missing; see peers/README.md"};
        }
        return word;
    }
    int number() { return std::stoi(text()); }
    int number_or(int otherwise)
    {
        int value = 0;
        return in_ >> value ? value : otherwise;
    }

private:
    std::istringstream in_;
};

std::string answer(const char* format, double a)
{
    char line[64];
    std::snprintf(line, sizeof line, format, a);
    return line;
}

std::string cycles(own_system& system, const std::string& path, int count)
{
    std::vector<double> lock;
    std::vector<double> cycle;
    for (const auto& t : system.cycles(path, count)) {
        lock.push_back(microseconds(t.lock));
        cycle.push_back(microseconds(t.cycle));
    }
    return "cycles" + answer(" %.2f", mean(lock)) + answer(" %.2f", mean(cycle)) +
           answer(" %.2f", median(lock)) + answer(" %.2f", median(cycle));
}

std::string reads(own_system& system, int count)
{
    std::vector<double> times;
    for (const auto t : system.reads(count)) {
        times.push_back(microseconds(t));
    }
    return answer("reads %.2f", median(times));
}

std::string turns(long count)
{
    return "turns " + std::to_string(count);
}

std::string carry_out(own_system& system, const std::string& line)
{
    words rest{line};
    const auto what = rest.text();
    if (what == "reads") {
        return reads(system, rest.number());
    }
    if (what == "leave") {
        system.leave();
        return "left";
    }
    const auto path = rest.text();
    if (what == "share") {
        const int shards = rest.number();
        const int members = rest.number();
        rest.number(); // it settles for as long as it does by default
        system.share(path, shards, members, rest.text());
        return "sharing";
    }
    if (what == "cycles") {
        return cycles(system, path, rest.number());
    }
    if (what == "lock") {
        system.lock(path);
        return "locked";
    }
    if (what == "unlock") {
        system.unlock(path);
        return "unlocked";
    }
    if (what == "work") {
        return "lost " + system.work(path, rest.text());
    }
    if (what == "contend") {
        own_system::contention c{milliseconds{rest.number()}};
        c.hold = std::chrono::microseconds{rest.number()};
        c.sessions = rest.number_or(1);
        return turns(system.contend(path, c));
    }
    if (what == "rw-contend") {
        own_system::contention c{milliseconds{rest.number()}};
        const int percent = rest.number();
        c.sessions = rest.number_or(1);
        return turns(system.rw_contend(path, c, percent));
    }
    if (what == "many") {
        const int locks = rest.number();
        const int in_flight = rest.number();
        return turns(system.many(path, locks, in_flight, milliseconds{rest.number()}));
    }
    if (what == "queue-up") {
        system.queue_up(path, rest.number());
        return "queued";
    }
    if (what == "drain") {
        const auto time = system.drain(path, rest.number());
        return answer("drained %.1f", microseconds(time));
    }
    throw std::runtime_error{"unknown command: " + what};
}

// Empty at the end of the input. The system is looked after while there is none.
std::optional<std::string> next_line(own_system& system)
{
    static std::string unread;
    for (auto end = unread.find('\n');; end = unread.find('\n')) {
        if (end != std::string::npos) {
            auto line = unread.substr(0, end);
            unread.erase(0, end + 1);
            return line;
        }
        pollfd input{STDIN_FILENO, POLLIN, 0};
        if (::poll(&input, 1, 500) == 0) {
            system.attend();
            continue;
        }
        char bytes[4096];
        const auto size = ::read(STDIN_FILENO, bytes, sizeof bytes);
        if (size <= 0) {
            return std::nullopt;
        }
        unread.append(bytes, static_cast<std::size_t>(size));
    }
}

void say(const std::string& line)
{
    std::puts(line.c_str());
    std::fflush(stdout);
}

} // namespace

void serve(const std::string& name, const std::string& hosts, int timeout_ms)
{
    std::unique_ptr<own_system> system;
    try {
        system = make(name, hosts, milliseconds{timeout_ms});
    } catch (const std::exception& e) {
        say(std::string{"error "} + e.what());
        throw;
    }
    say("ready");
    for (auto line = next_line(*system); line && *line != "quit"; line = next_line(*system)) {
        try {
            say(carry_out(*system, *line));
        } catch (const std::exception& e) {
            say(std::string{"error "} + e.what());
        }
    }
}

void repeat(const std::string& name, const std::string& hosts, int count)
{
    const auto system = make(name, hosts, std::chrono::seconds{10});
    say(name + ": " + cycles(*system, "/bench/" + name, count));
}

} // namespace bench
