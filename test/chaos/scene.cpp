#include "scene.hpp"

#include <support/admin_session.hpp>
#include <support/subprocess.hpp>
#include <support/wait_until.hpp>

#include "interruption.hpp"
#include "remains.hpp"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace chaos {

using namespace std::chrono_literals;
using colock::test::admin_error;
using colock::test::admin_session;
using colock::test::server_place;
using colock::test::subprocess;
using colock::test::zookeeper_options;

namespace {

constexpr std::size_t servers = 3;
constexpr std::size_t first_server = 1; // host 0 is this program
constexpr std::size_t first_client = first_server + servers;
constexpr auto tick = 1s;
// Until a process that was told to end has ended, on a slow machine.
constexpr auto patience = 60s;

zookeeper_options server_options()
{
    zookeeper_options o;
    o.tick_time = tick;
    o.container_check_interval = 3s; // directories of locks come and go
    // A follower that is cut off serves its clients for longer than their sessions last.
    o.sync_limit = 16;
    return o;
}

std::vector<server_place> places_of(const network& n)
{
    std::vector<server_place> places;
    for (std::size_t i = 0; i != servers; ++i) {
        const auto number = first_server + i;
        places.push_back({n.address(number), n.address(number), n.launcher(number)});
    }
    return places;
}

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

void list_nodes(admin_session& admin, const std::string& path, std::vector<std::string>& found)
{
    for (const auto& name : admin.children(path)) {
        const auto child = path + '/' + name;
        const auto about = admin.exists(child);
        if (about && about->ephemeral_owner != 0) {
            std::ostringstream text;
            text << child << " of session 0x" << std::hex << about->ephemeral_owner;
            found.push_back(text.str());
        } else if (about) {
            list_nodes(admin, child, found);
        }
    }
}

} // namespace

scene::scene(const scene_settings& s)
    : settings_{s}, register_{directory_.path() + "/register"}, network_{first_client +
                                                                             s.colock_clients +
                                                                             s.curator_clients,
                                                                         s.seed},
      servers_{server_options(), places_of(network_)},
      server_conditions_(servers, server_condition::runs)
{
    admin_session{servers_.connect_string()}.create("/chaos");
    for (std::size_t i = 0; i != s.colock_clients + s.curator_clients; ++i) {
        auto& c = clients_.emplace_back();
        c.is_colock = i < s.colock_clients;
        c.place = c.is_colock ? "colock-" + std::to_string(i)
                              : "curator-" + std::to_string(i - s.colock_clients);
        c.host = first_client + i;
        start(c);
    }
    for (const auto& c : clients_) {
        const auto& file = c.journals.back().file;
        if (!colock::test::wait_until([&] { return std::filesystem::file_size(file) > 0; }, 60s)) {
            throw std::runtime_error{"chaos: " + c.place + " does not start:\n" +
                                     end_of(directory_.path() + '/' + c.place + ".log")};
        }
        throw_if_interrupted();
    }
}

void scene::start(client& c)
{
    const auto name = c.place + '.' + std::to_string(++c.launches);
    const auto file = directory_.path() + '/' + name;
    std::ofstream{file}.flush(); // it is there before the process writes to it
    c.journals.push_back({name, file, c.is_colock});
    const auto number = c.host - first_client;
    const auto seed = std::to_string(settings_.seed * 1000 + number * 100 +
                                     static_cast<std::uint64_t>(c.launches));
    auto line = network_.launcher(c.host);
    if (c.is_colock) {
        const std::size_t sessions[] = {5000, 7000, 10000};
        line.insert(line.end(),
                    {settings_.worker, servers_.connect_string(), file, register_.socket(), name,
                     std::to_string(number), std::to_string(sessions[number % 3]),
                     std::to_string(std::chrono::milliseconds{tick}.count()), seed});
    } else {
        line.insert(line.end(), {settings_.curator, servers_.connect_string(), file,
                                 register_.socket(), name, "6000", seed});
    }
    c.process = std::make_unique<subprocess>(
        line, colock::test::subprocess_options{
                  .output_file = directory_.path() + '/' + c.place + ".log", .open_input = true});
    c.condition = condition::runs;
}

void scene::start_later(client& c, std::chrono::milliseconds pause)
{
    c.condition = condition::down;
    later(pause, [this, &c] {
        if (c.condition == condition::down && !finishing_) {
            start(c);
        }
    });
}

void scene::later(std::chrono::milliseconds delay, std::function<void()> action)
{
    due_.emplace(clock::now() + delay, std::move(action));
}

void scene::complain(const client& c, const std::string& what)
{
    (c.is_colock ? complaints_ : notes_)
        .push_back(c.journals.back().process + ' ' + what +
                   "; the end of its log: " + end_of(directory_.path() + '/' + c.place + ".log"));
}

void scene::watch(client& c)
{
    if (c.condition == condition::runs && !c.process->running()) {
        const auto status = c.process->wait();
        complain(c, "ended by itself, with " + (status.signal != 0
                                                    ? "signal " + std::to_string(status.signal)
                                                    : "status " + std::to_string(status.code)));
        start_later(c, 1s);
    } else if (c.condition == condition::ending && !c.process->running()) {
        if (const auto status = c.process->wait(); !status.success()) {
            complain(c, "did not end well: signal " + std::to_string(status.signal) + ", status " +
                            std::to_string(status.code));
        }
        start_later(c, c.pause);
    } else if (c.condition == condition::ending && clock::now() > c.deadline) {
        complain(c, "was told to end, and has not (G6)");
        c.process->kill();
        start_later(c, c.pause);
    }
}

// Faults come later than planned then.
void scene::note_if_slow(const std::string& what, clock::time_point begin)
{
    const auto time = std::chrono::round<std::chrono::milliseconds>(clock::now() - begin);
    if (time > 1s) {
        notes_.push_back(what + " took " + text_of(time));
    }
}

void scene::go_on()
{
    throw_if_interrupted();
    while (!due_.empty() && due_.begin()->first <= clock::now()) {
        const auto action = std::move(due_.extract(due_.begin()).mapped());
        const auto begin = clock::now();
        action();
        note_if_slow("the end of a fault", begin);
    }
    for (auto& c : clients_) {
        watch(c);
    }
    for (std::size_t i = 0; i != servers; ++i) {
        if (server_conditions_[i] == server_condition::runs && !servers_[i].running()) {
            notes_.push_back("server " + std::to_string(i + 1) + " ended by itself");
            servers_[i].launch();
        }
    }
}

// ------------------------------------------------------------------------------- whom

std::size_t scene::client_of(const fault& f)
{
    const auto holder = f.holder ? register_.last_writer("mutex") : std::string{};
    const auto found = std::ranges::find_if(
        clients_, [&](const auto& c) { return c.journals.back().process == holder; });
    return found == clients_.end() ? f.client : static_cast<std::size_t>(found - clients_.begin());
}

scene::client* scene::free_client(const fault& f)
{
    const auto wish = client_of(f);
    for (std::size_t i = 0; i != clients_.size(); ++i) {
        auto& c = clients_[(wish + i) % clients_.size()];
        if (c.condition == condition::runs) {
            return &c;
        }
    }
    return nullptr;
}

std::optional<std::size_t> scene::leader()
{
    for (std::size_t i = 0; i != servers; ++i) {
        if (server_conditions_[i] == server_condition::runs &&
            servers_[i].mode(150ms) == "leader") {
            last_leader_ = i;
            return i;
        }
    }
    return std::nullopt;
}

std::size_t scene::server_of(const fault& f)
{
    leader();
    return f.leader ? last_leader_ : (last_leader_ + 1 + f.other) % servers;
}

std::optional<std::size_t> scene::free_server(const fault& f)
{
    const auto wish = server_of(f);
    for (std::size_t i = 0; i != servers; ++i) {
        const auto number = (wish + i) % servers;
        if (server_conditions_[number] == server_condition::runs) {
            return number;
        }
    }
    return std::nullopt;
}

std::string scene::name_of_server(std::size_t number)
{
    return "server " + std::to_string(number + 1) + (number == last_leader_ ? " (leader)" : "");
}

hosts scene::all_servers() const
{
    hosts all = 0;
    for (std::size_t i = 0; i != servers; ++i) {
        all |= host(first_server + i);
    }
    return all;
}

hosts scene::all_clients() const
{
    hosts all = 0;
    for (const auto& c : clients_) {
        all |= host(c.host);
    }
    return all;
}

// ------------------------------------------------------------------------------- faults

void scene::launch(std::size_t server)
{
    servers_[server].kill(); // if it has not ended when it was asked to
    servers_[server].launch();
    server_conditions_[server] = server_condition::runs;
}

std::string scene::begin(const fault& f)
{
    switch (f.kind) {
    case kind::kill_client:
    case kind::stop_client:
    case kind::restart_client: {
        auto* const c = free_client(f);
        if (!c) {
            return {};
        }
        const auto name = c->journals.back().process;
        if (f.kind == kind::kill_client) {
            c->process->kill();
            start_later(*c, f.lasts);
            return "SIGKILL to " + name + ", the next one after " + text_of(f.lasts);
        }
        if (f.kind == kind::restart_client) {
            c->process->write_input("finish\n");
            c->condition = condition::ending;
            c->deadline = clock::now() + patience;
            c->pause = f.lasts;
            return name + " is told to end, the next one after " + text_of(f.lasts);
        }
        c->process->stop();
        c->condition = condition::stopped;
        later(f.lasts, [c] {
            if (c->condition == condition::stopped) {
                c->process->resume();
                c->condition = condition::runs;
            }
        });
        return "SIGSTOP to " + name + ", for " + text_of(f.lasts);
    }
    case kind::kill_server:
    case kind::stop_server:
    case kind::restart_server: {
        const auto number = free_server(f);
        if (!number) {
            return {};
        }
        const auto i = *number;
        if (f.kind == kind::stop_server) {
            servers_[i].stop_process();
            server_conditions_[i] = server_condition::stopped;
            later(f.lasts, [this, i] {
                if (server_conditions_[i] == server_condition::stopped) {
                    servers_[i].continue_process();
                    server_conditions_[i] = server_condition::runs;
                }
            });
            return "SIGSTOP to " + name_of_server(i) + ", for " + text_of(f.lasts);
        }
        server_conditions_[i] = server_condition::down;
        if (f.kind == kind::kill_server) {
            servers_[i].kill();
        } else if (const auto pid = servers_[i].pid(); pid > 0) {
            ::kill(pid, SIGTERM);
        }
        later(f.lasts, [this, i] {
            if (server_conditions_[i] == server_condition::down) {
                launch(i);
            }
        });
        return (f.kind == kind::kill_server ? "SIGKILL to " : "SIGTERM to ") + name_of_server(i) +
               ", started after " + text_of(f.lasts);
    }
    default: return disturb_network(f);
    }
}

void scene::disturb(hosts a, hosts b, const fault& f)
{
    for (const bool there : {true, false}) {
        if (f.direction == (there ? direction::back : direction::there)) {
            continue;
        }
        const disturbance d{there ? a : b, there ? b : a, f.lost, f.delay};
        network_.disturb(d);
        later(f.lasts, [this, d] { network_.heal(d); });
    }
}

std::string scene::disturb_network(const fault& f)
{
    const auto& c = clients_.at(client_of(f));
    const auto chosen = server_of(f);
    const auto server = host(first_server + chosen);
    const auto leading = host(first_server + last_leader_);
    const auto arrow = f.direction == direction::both    ? " <-> "
                       : f.direction == direction::there ? " -> "
                                                         : " <- ";
    const auto severity = (f.lost == 100 ? " cut"
                           : f.lost > 0  ? " loses " + std::to_string(f.lost) + " %"
                                         : " is late by " + text_of(f.delay)) +
                          ", for " + text_of(f.lasts);
    switch (f.kind) {
    case kind::cut_client_server:
        disturb(host(c.host), server, f);
        return c.place + arrow + name_of_server(chosen) + severity;
    case kind::cut_follower_leader: {
        const auto follower = (last_leader_ + 1 + f.other) % servers;
        disturb(host(first_server + follower), leading, f);
        return name_of_server(follower) + arrow + name_of_server(last_leader_) + severity;
    }
    case kind::cut_leader_rest:
        disturb(leading, all_servers() & ~leading, f);
        return name_of_server(last_leader_) + arrow + "the other servers" + severity;
    case kind::cut_server_clients:
        disturb(server, all_clients(), f);
        return name_of_server(chosen) + arrow + "all clients" + severity;
    case kind::delay_server:
    case kind::lose_server:
        disturb(server, all_servers() & ~server, f);
        return name_of_server(chosen) + arrow + "the other servers" + severity;
    default: // a client and all servers
        disturb(host(c.host), all_servers(), f);
        return c.place + arrow + "all servers" + severity;
    }
}

// ------------------------------------------------------------------------------- the end

void scene::calm_down()
{
    network_.heal();
    // The actions that are still planned undo the faults.
    while (!due_.empty() || std::ranges::any_of(clients_, [](const auto& c) {
        return c.condition != condition::runs;
    })) {
        if (!due_.empty()) {
            const auto action = std::move(due_.extract(due_.begin()).mapped());
            action();
        }
        go_on();
        std::this_thread::sleep_for(1ms);
    }
    const auto deadline = clock::now() + patience;
    for (;;) {
        go_on();
        try {
            servers_.wait_until_complete(1s);
            return;
        } catch (const std::runtime_error&) {
            if (clock::now() > deadline) {
                throw;
            }
        }
    }
}

std::vector<std::string> scene::silence(std::chrono::seconds limit)
{
    for (auto& c : clients_) {
        c.process->write_input("quiet\n");
    }
    return remains(limit, 100ms, [&] {
        go_on();
        std::vector<std::string> late;
        for (const auto& c : running()) {
            const auto j = read_journal(c.file, c.process, c.is_colock);
            if (j.events.empty() || j.events.back().what != what::quiet) {
                late.push_back(c.process);
            }
        }
        return late;
    });
}

std::vector<std::string> scene::nodes(std::chrono::seconds limit)
{
    return remains(limit, 100ms, [&] {
        go_on();
        std::vector<std::string> found;
        try {
            admin_session admin{servers_.connect_string()};
            admin.sync();
            list_nodes(admin, "/chaos", found);
        } catch (const admin_error& e) { // a directory has gone meanwhile
            found = {std::string{"cannot be listed: "} + e.what()};
        }
        return found;
    });
}

std::vector<std::string> scene::finish(std::chrono::seconds limit)
{
    finishing_ = true;
    for (auto& c : clients_) {
        c.process->write_input("finish\n");
    }
    const auto deadline = clock::now() + limit;
    std::vector<std::string> late;
    for (auto& c : clients_) {
        while (c.process->running() && clock::now() < deadline) {
            throw_if_interrupted();
            std::this_thread::sleep_for(5ms);
        }
        if (c.process->running()) {
            late.push_back(c.journals.back().process);
            c.process->kill();
        } else if (!c.process->wait().success()) {
            complain(c, "did not end well");
        }
        c.condition = condition::down;
    }
    return late;
}

std::vector<std::string> scene::sessions(std::chrono::seconds limit)
{
    return remains(limit, 100ms, [&] {
        throw_if_interrupted();
        std::vector<std::string> found;
        for (const auto id : servers_[servers_.wait_for_leader()].sessions()) {
            std::ostringstream text;
            text << "session 0x" << std::hex << id;
            found.push_back(text.str());
        }
        return found;
    });
}

std::vector<std::string> scene::processes()
{
    for (std::size_t i = 0; i != servers; ++i) {
        servers_[i].kill();
    }
    auto found = network_.processes();
    for (auto& pid : found) {
        pid.insert(0, "process ");
    }
    return found;
}

std::vector<scene::running_client> scene::running() const
{
    std::vector<running_client> all;
    for (const auto& c : clients_) {
        if (c.condition == condition::runs) {
            all.push_back(c.journals.back());
        }
    }
    return all;
}

std::vector<journal> scene::journals() const
{
    std::vector<journal> all;
    for (const auto& c : clients_) {
        for (const auto& j : c.journals) {
            all.push_back(read_journal(j.file, j.process, j.is_colock));
        }
    }
    return all;
}

std::vector<std::string> scene::server_directories() const
{
    std::vector<std::string> all;
    for (std::size_t i = 0; i != servers; ++i) {
        all.push_back(servers_[i].directory());
    }
    return all;
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
    for (std::size_t i = 0; i != servers; ++i) {
        fs::copy_file(servers_[i].directory() + "/server.log",
                      directory + "/server-" + std::to_string(i + 1) + ".log",
                      fs::copy_options::overwrite_existing, ignored);
        // Logs are 64 MiB long, most of it zeros.
        try {
            colock::test::subprocess{{"cp", "--recursive", "--no-target-directory",
                                      "--sparse=always", servers_[i].directory() + "/version-2",
                                      directory + "/server-" + std::to_string(i + 1)}}
                .wait();
        } catch (const std::runtime_error&) { // the journals are kept
        }
    }
}

} // namespace chaos
