#include "scene.hpp"

#include <support/wait_until.hpp>

#include <algorithm>
#include <chaos/interruption.hpp>
#include <chaos/journal.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace soak {

using namespace std::chrono_literals;
using chaos::now;
using colock::test::subprocess;
using colock::test::wait_until;

namespace {

// Until a process that was told to end has ended, on a slow machine: it hands its shards on for 20 s at most.
constexpr auto patience = 60s;

std::string text_of(std::chrono::milliseconds time)
{
    std::ostringstream text;
    text << static_cast<double>(time.count()) / 1000 << " s";
    return text.str();
}

std::string end_of(const std::string& file)
{
    std::ifstream in{file};
    std::string text{std::istreambuf_iterator<char>{in}, {}};
    constexpr std::size_t most = 2000;
    return text.size() > most ? text.substr(text.size() - most) : text;
}

std::string hexadecimal(std::int64_t number)
{
    std::ostringstream text;
    text << "0x" << std::hex << number;
    return text.str();
}

} // namespace

scene::scene(const scene_settings& s)
    : settings_{s}, store_{directory_.path() + "/store"}, server_{{.tick_time = tick}}
{
    for (std::size_t i = 0; i != s.processes; ++i) {
        start(places_.emplace_back());
    }
    if (!wait_until(
            [&] {
                go_on();
                return is_even();
            },
            120s, 100ms)) {
        throw std::runtime_error{"the shards are not owned, evenly, within 2 minutes"};
    }
    from_ = now();
}

std::string scene::file_of(const std::string& name) const
{
    return directory_.path() + '/' + name;
}

void scene::start(place& p)
{
    const auto at = std::ranges::find_if(places_, [&](const auto& each) { return &each == &p; });
    const auto name =
        'p' + std::to_string(at - places_.begin()) + '.' + std::to_string(++p.launches);
    processes_.push_back({.name = name});
    p.last = &processes_.back();
    const std::vector<std::string> line{settings_.worker,
                                        server_.connect_string(),
                                        file_of(name),
                                        store_.socket(),
                                        name,
                                        std::to_string(settings_.shards),
                                        std::to_string(session.count()),
                                        std::to_string(tick.count()),
                                        helper_.path};
    p.process = std::make_unique<subprocess>(
        line, colock::test::subprocess_options{.output_file = file_of(name + ".log")});
    p.condition = condition::runs;
}

void scene::start_later(place& p, std::chrono::milliseconds pause)
{
    p.condition = condition::down;
    if (!finishing_) {
        later(pause, [this, &p] { start(p); });
    }
}

void scene::later(std::chrono::milliseconds delay, std::function<void()> action)
{
    due_.emplace(clock::now() + delay, std::move(action));
}

void scene::complain(const place& p, const std::string& what)
{
    complaints_.push_back(p.last->name + ' ' + what +
                          "; the end of its log: " + end_of(file_of(p.last->name + ".log")));
}

void scene::watch(place& p)
{
    if (p.condition == condition::runs && !p.process->running()) {
        const auto status = p.process->wait();
        p.last->killed = now();
        complain(p, "ended by itself, with " + (status.signal != 0
                                                    ? "signal " + std::to_string(status.signal)
                                                    : "status " + std::to_string(status.code)));
        start_later(p, 1s);
    } else if (p.condition == condition::ending && !p.process->running()) {
        // The signal may have come before it was awaited.
        const auto status = p.process->wait();
        if (!status.success() &&
            (status.signal != SIGTERM || !read_turns(file_of(p.last->name)).empty())) {
            complain(p, "did not end well: signal " + std::to_string(status.signal) + ", status " +
                            std::to_string(status.code));
        }
        start_later(p, p.pause);
    } else if (p.condition == condition::ending && clock::now() > p.deadline) {
        complain(p, "was told to end, and has not");
        p.last->killed = now();
        p.process->kill();
        start_later(p, p.pause);
    }
}

void scene::go_on()
{
    chaos::throw_if_interrupted();
    while (!due_.empty() && due_.begin()->first <= clock::now()) {
        const auto action = std::move(due_.extract(due_.begin()).mapped());
        action();
    }
    std::ranges::for_each(places_, [this](place& p) { watch(p); });
    if (!server_serves_ && server_.running() && server_.serving(100ms)) {
        server_serves_ = true;
        outages_.back().to = now();
    }
}

void scene::resume(place& p)
{
    p.process->resume();
    p.last->stops.back().to = now();
    p.condition = condition::runs;
}

std::string scene::begin(const fault& f)
{
    if (f.kind == kind::restart) {
        if (!server_serves_) {
            return {};
        }
        server_serves_ = false;
        outages_.push_back({now(), std::numeric_limits<nanoseconds>::max() / 2});
        server_.kill();
        later(f.lasts, [this] { server_.launch(); });
        return "SIGKILL to the server, started after " + text_of(f.lasts);
    }
    // Half of them go on.
    const auto running = std::ranges::count(places_, condition::runs, &place::condition);
    if (static_cast<std::size_t>(running) <= settings_.processes / 2) {
        return {};
    }
    auto number = f.place;
    while (places_[number].condition != condition::runs) {
        number = (number + 1) % places_.size();
    }
    auto& p = places_[number];
    const auto& name = p.last->name;
    switch (f.kind) {
    case kind::kill:
        p.last->killed = now();
        p.process->kill();
        start_later(p, f.lasts);
        return "SIGKILL to " + name + ", the next one after " + text_of(f.lasts);
    case kind::leave:
        p.last->told_to = now();
        p.process->send_signal(SIGTERM);
        p.condition = condition::ending;
        p.deadline = clock::now() + patience;
        p.pause = f.lasts;
        return "SIGTERM to " + name + ", the next one after " + text_of(f.lasts);
    default:
        p.last->stops.push_back({now(), std::numeric_limits<nanoseconds>::max() / 2});
        p.process->stop();
        p.condition = condition::stopped;
        later(f.lasts, [this, &p] { resume(p); });
        return "SIGSTOP to " + name + ", for " + text_of(f.lasts);
    }
}

// All processes run, and have as many shards as they shall.
bool scene::is_even() const
{
    std::size_t all = 0;
    std::size_t least = settings_.shards;
    std::size_t most = 0;
    for (const auto& p : places_) {
        if (p.condition != condition::runs) {
            return false;
        }
        const auto turns = read_turns(file_of(p.last->name));
        const auto own = static_cast<std::size_t>(
            std::ranges::count_if(turns, [](const turn& t) { return !t.ended; }));
        all += own;
        least = std::min(least, own);
        most = std::max(most, own);
    }
    return all == settings_.shards && most <= least + 1;
}

bool scene::calm_down(std::chrono::seconds limit)
{
    const bool calm = wait_until(
        [&] {
            go_on();
            return due_.empty() && server_serves_ && is_even();
        },
        limit, 50ms);
    to_ = now();
    return calm;
}

std::vector<std::string> scene::finish(std::chrono::seconds limit)
{
    finishing_ = true;
    due_.clear();
    for (auto& p : places_) {
        if (p.condition == condition::stopped) {
            resume(p);
        }
        if (p.condition == condition::runs) {
            p.last->told_to = now();
            p.process->send_signal(SIGTERM);
            p.condition = condition::ending;
            p.deadline = clock::now() + limit;
        }
    }
    while (std::ranges::any_of(places_,
                               [](const place& p) { return p.condition != condition::down; })) {
        go_on();
        std::this_thread::sleep_for(5ms);
    }
    std::vector<std::string> left;
    wait_until(
        [&] {
            chaos::throw_if_interrupted();
            left.clear();
            for (const auto& [owner, nodes] : server_.ephemerals()) {
                for (const auto& node : nodes) {
                    left.push_back(node + " of session " + hexadecimal(owner));
                }
            }
            for (const auto id : server_.sessions()) {
                left.push_back("session " + hexadecimal(id));
            }
            for (const auto pid : helper_.processes()) {
                left.push_back("session guard " + std::to_string(pid));
            }
            return left.empty();
        },
        session + 10 * tick, 100ms);
    return left;
}

history scene::what_happened() const
{
    history h{.shards = settings_.shards, .from = from_, .to = to_, .outages = outages_};
    for (auto p : processes_) {
        p.turns = read_turns(file_of(p.name));
        h.processes.push_back(std::move(p));
    }
    for (const auto& e : store_.entries()) {
        std::istringstream note{e.note};
        write w{.shard = std::stoul(e.lock),
                .process = e.process,
                .token = e.token,
                .at = e.at,
                .accepted = e.accepted};
        note >> w.looked >> w.bound;
        h.writes.push_back(std::move(w));
    }
    return h;
}

void scene::keep(const std::string& directory) const
{
    namespace fs = std::filesystem;
    std::error_code ignored;
    fs::create_directories(directory);
    for (const auto& each : fs::directory_iterator{directory_.path()}) {
        if (each.is_regular_file()) {
            fs::copy_file(each.path(), fs::path{directory} / each.path().filename(),
                          fs::copy_options::overwrite_existing, ignored);
        }
    }
    std::ofstream writes{fs::path{directory} / "writes"};
    for (const auto& e : store_.entries()) {
        writes << e.at << ' ' << (e.accepted ? "accepted " : "refused ") << e.lock << ' '
               << e.process << ' ' << e.token << ' ' << e.note << '\n';
    }
    fs::copy_file(server_.directory() + "/server.log", directory + "/server.log",
                  fs::copy_options::overwrite_existing, ignored);
}

} // namespace soak
