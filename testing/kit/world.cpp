#include <colock/testing/world.hpp>

#include "ensemble/ensemble.hpp"
#include "world/history.hpp"
#include "world/process.hpp"
#include "world/rival.hpp"

#include <boost/asio/co_spawn.hpp>

#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace colock::testing {

namespace asio = boost::asio;
using namespace simulated;

namespace {

// Longer ones overflow.
void refuse_odd(std::chrono::milliseconds time)
{
    using namespace std::chrono_literals;
    if (time < 0ms || time > 24h * 365 * 100) {
        throw std::invalid_argument{"times of a world are from 0 to 100 years"};
    }
}

ensemble_options options_of(const world_options& o)
{
    ensemble_options made;
    if (o.servers == 0) {
        throw std::invalid_argument{"a world has at least one server"};
    }
    // Servers act each half a tick, and times of a longer one would overflow.
    if (o.tick < std::chrono::milliseconds{2} || o.tick > std::chrono::hours{24}) {
        throw std::invalid_argument{"a tick of a world is from 2 ms to a day"};
    }
    refuse_odd(o.least_session);
    refuse_odd(o.most_session);
    made.servers = o.servers;
    made.tick = o.tick;
    made.least_session = o.least_session;
    made.most_session = o.most_session;
    made.exists_needs_read = true;               // as in 3.9.3
    made.actual.since_1970 = kernel::since_1970; // as processes see it
    return made;
}

// The linker does not see that a shared library of the program brings it.
void refuse_shared_colock()
{
    const auto is_colock = [](dl_phdr_info* object, std::size_t, void*) {
        return std::string_view{object->dlpi_name}.find("/libcolock.so") != std::string_view::npos
                   ? 1
                   : 0;
    };
    if (::dl_iterate_phdr(is_colock, nullptr) != 0) {
        throw std::logic_error{"this program loads libcolock.so, too, whose clients know no world: "
                               "build all of it with colock::testing_world in the place of "
                               "colock::colock"};
    }
}

void refuse_processes()
{
    if (process::running() != nullptr) {
        throw std::logic_error{"a process cannot move the world that it is in"};
    }
}

} // namespace

struct world::impl {
    struct program {
        std::string name;
        machine on;
        main_coroutine main;
        bool is_rival = false;
        bool holds = false;
        bool has_returned = false;
        std::vector<std::int64_t> sessions = {};
        std::unique_ptr<process> running = nullptr;
    };

    impl(std::uint64_t seed, const world_options& o)
        : chance{seed}, net{time, chance.branch()}, servers{time, net, chance.branch(),
                                                            options_of(o)},
          hosts{servers.hosts()}, past{o.history}
    {
        net.observe([this](const stream& by, const message& m) {
            past.sent(time.now(), by, m);
            const auto* made = std::get_if<connect_reply>(&m);
            if (made != nullptr && made->session.id != 0) {
                session_made(by.there(), made->session.id);
            }
        });
        const auto all_serve = [this] {
            for (std::size_t i = 0; i != servers.size(); ++i) {
                if (!servers.serves(i)) {
                    return false;
                }
            }
            return true;
        };
        while (!all_serve()) {
            time.run_next();
        }
        began = time.now();
    }

    void session_made(const machine& of, std::int64_t id)
    {
        for (auto& [name, each] : programs) {
            if (&each->on == &of && std::ranges::count(each->sessions, id) == 0) {
                each->sessions.push_back(id);
            }
        }
    }

    void note(const std::string& who, const std::string& what) { past.note(time.now(), who, what); }

    [[nodiscard]] program* find(const std::string& name) const
    {
        const auto at = programs.find(name);
        return at == programs.end() ? nullptr : at->second.get();
    }
    [[nodiscard]] program& get(const std::string& name) const
    {
        auto* found = find(name);
        if (found == nullptr) {
            throw std::invalid_argument{"there is no process \"" + name + "\" in this world"};
        }
        return *found;
    }
    [[nodiscard]] program& alive(const std::string& name) const
    {
        auto& found = get(name);
        if (!found.running) {
            throw std::invalid_argument{"the process \"" + name + "\" was killed"};
        }
        return found;
    }
    [[nodiscard]] std::optional<std::size_t> server(const std::string& name)
    {
        for (std::size_t i = 0; i != servers.size(); ++i) {
            if (servers.machine_of(i).name() == name) {
                return i;
            }
        }
        return std::nullopt;
    }
    [[nodiscard]] machine& machine_of(const std::string& name)
    {
        const auto i = server(name);
        return i ? servers.machine_of(*i) : get(name).on;
    }
    [[nodiscard]] std::vector<machine*> machines()
    {
        std::vector<machine*> all;
        for (std::size_t i = 0; i != servers.size(); ++i) {
            all.push_back(&servers.machine_of(i));
        }
        for (auto& [name, each] : programs) {
            all.push_back(&each->on);
        }
        return all;
    }

    program& add(const std::string& name, int drift)
    {
        if (find(name) != nullptr || server(name)) {
            throw std::invalid_argument{"there is a \"" + name + "\" in this world already"};
        }
        // std::map: whatever goes over all of them does so in the same order in each run.
        auto made = std::unique_ptr<program>{new program{name, {time, name, drift}, {}}};
        for (const auto& each : alone) {
            net.cut(made->on, machine_of(each));
            net.cut(machine_of(each), made->on);
        }
        return *(programs[name] = std::move(made));
    }

    void start(program& p)
    {
        note(p.name, "starts");
        if (!p.on.is_alive()) {
            p.on.start();
        }
        p.has_returned = false;
        p.running = std::make_unique<process>(p.on, net, chance.branch(), 1);
        p.running->enter([this, &p] {
            auto& context = p.running->context();
            asio::co_spawn(context, p.main(context, hosts), [this, &p](std::exception_ptr failed) {
                p.has_returned = true;
                note(p.name, failed ? "ends with an exception" : "has returned from main");
                if (failed) {
                    std::rethrow_exception(failed);
                }
            });
        });
    }

    void by_operator(bool is_done) const
    {
        if (!is_done) {
            throw std::runtime_error{
                "no server leads now: nobody carries out what an operator asks"};
        }
    }

    // Children go before their parents.
    void remove(const tree::node& below)
    {
        std::vector<std::string> names;
        for (const auto* child : below.children) {
            names.emplace_back(child->path);
        }
        std::ranges::sort(names);
        for (const auto& name : names) {
            remove(*servers.decided().find(name));
        }
        by_operator(servers.remove_by_hand(below.path));
    }

    random chance;
    timeline time;
    network net;
    ensemble servers;
    std::string hosts;
    simulated::history past;
    instant began{0};
    std::set<std::string> alone;                              // cut off those, too, who come later
    std::map<std::string, std::unique_ptr<program>> programs; // end before all else
};

world::world(std::uint64_t seed, world_options options)
{
    refuse_shared_colock();
    impl_ = std::make_unique<impl>(seed, options);
}

world::~world() = default;

const std::string& world::hosts() const noexcept
{
    return impl_->hosts;
}

// ---- processes

void world::start_process(const std::string& name, main_coroutine main, process_options options)
{
    if (std::abs(std::int64_t{options.drift}) >= 1'000'000) {
        throw std::invalid_argument{"a clock drifts by less than 1,000,000 millionths"};
    }
    auto& made = impl_->add(name, options.drift);
    made.main = std::move(main);
    impl_->start(made);
}

void world::start_rival(const std::string& name, const std::string& path,
                        std::chrono::milliseconds hold)
{
    if (!path.starts_with('/') || path.ends_with('/')) {
        throw std::invalid_argument{"\"" + path + "\" is no path of a lock, such as \"/locks/a\""};
    }
    refuse_odd(hold);
    auto& made = impl_->add(name, 0);
    made.is_rival = true;
    made.main = [this, &made, path, hold](asio::io_context& context, std::string hosts) {
        made.holds = false;
        return rival(context, std::move(hosts), {path, hold, impl_->chance.branch(), made.holds});
    };
    impl_->start(made);
}

bool world::holds(const std::string& rival) const
{
    const auto& asked = impl_->get(rival);
    if (!asked.is_rival) {
        throw std::invalid_argument{"\"" + rival + "\" is no rival"};
    }
    return asked.holds && asked.running;
}

bool world::has_ended(const std::string& process) const
{
    const auto& asked = impl_->get(process);
    return asked.has_returned || !asked.running;
}

void world::perform(const std::string& process, std::function<void()> what)
{
    impl_->alive(process).running->enter(std::move(what));
}

void world::look_as(const std::string& process, const std::function<void()>& what) const
{
    impl_->alive(process).running->look(what);
}

// ---- time

std::chrono::nanoseconds world::now() const noexcept
{
    return impl_->time.now() - impl_->began;
}

void world::run_for(std::chrono::nanoseconds duration)
{
    refuse_processes();
    refuse_odd(std::chrono::floor<std::chrono::milliseconds>(duration));
    impl_->time.run_until(impl_->time.now() + duration);
}

bool world::run_until(const std::function<bool()>& is_true, std::chrono::nanoseconds limit)
{
    refuse_processes();
    limit = std::max(limit, std::chrono::nanoseconds{0}); // what is left of a time may be negative
    refuse_odd(std::chrono::floor<std::chrono::milliseconds>(limit));
    auto& time = impl_->time;
    const auto end = time.now() + limit;
    while (!is_true()) {
        const auto next = time.next();
        if (!next || *next > end) {
            time.run_until(end);
            return is_true();
        }
        time.run_next();
    }
    return true;
}

// ---- troubles

void world::pause(const std::string& name)
{
    impl_->note(name, "is paused");
    impl_->machine_of(name).stop();
}

void world::suspend(const std::string& name)
{
    impl_->note(name, "sleeps");
    impl_->machine_of(name).suspend();
}

void world::resume(const std::string& name)
{
    impl_->note(name, "goes on");
    impl_->machine_of(name).go_on();
}

void world::kill(const std::string& name)
{
    refuse_processes();
    auto& on = impl_->machine_of(name);
    impl_->note(name, "is killed");
    on.kill();
    if (auto* killed = impl_->find(name)) {
        killed->running.reset();
    }
}

void world::restart(const std::string& name)
{
    refuse_processes();
    if (impl_->machine_of(name).is_alive()) {
        throw std::invalid_argument{"\"" + name + "\" still runs"};
    }
    if (const auto i = impl_->server(name)) {
        impl_->note(name, "starts");
        impl_->servers.start(*i);
    } else {
        impl_->start(impl_->get(name));
    }
}

void world::cut(const std::string& one, const std::string& other)
{
    cut_one_way(one, other);
    cut_one_way(other, one);
}

void world::cut_one_way(const std::string& from, const std::string& to)
{
    auto& sender = impl_->machine_of(from);
    impl_->net.cut(sender, impl_->machine_of(to));
    impl_->note(from, "is cut off " + to);
}

void world::cut(const std::string& name)
{
    auto& alone = impl_->machine_of(name);
    impl_->alone.insert(name);
    for (const auto* other : impl_->machines()) {
        if (other != &alone) {
            impl_->net.cut(alone, *other);
            impl_->net.cut(*other, alone);
        }
    }
    impl_->note(name, "is cut off");
}

void world::mend(const std::string& one, const std::string& other)
{
    auto& a = impl_->machine_of(one);
    auto& b = impl_->machine_of(other);
    impl_->note(one, "reaches " + other + " again");
    impl_->net.mend(a, b);
    impl_->net.mend(b, a);
}

void world::mend(const std::string& name)
{
    auto& back = impl_->machine_of(name);
    impl_->alone.erase(name);
    impl_->note(name, "reaches everybody again");
    for (const auto* other : impl_->machines()) {
        if (other != &back && !impl_->alone.contains(other->name())) {
            impl_->net.mend(back, *other);
            impl_->net.mend(*other, back);
        }
    }
}

void world::delay(std::chrono::microseconds least, std::chrono::microseconds most)
{
    if (least.count() < 0 || most < least) {
        throw std::invalid_argument{"a delay is not negative, and the least one is given first"};
    }
    refuse_odd(std::chrono::floor<std::chrono::milliseconds>(most));
    impl_->note("network", "takes " + std::to_string(least.count()) + " to " +
                               std::to_string(most.count()) + " microseconds");
    impl_->net.delay_all(least, most);
}

// ---- operators

void world::expire(const std::string& process)
{
    for (const auto id : sessions(process)) {
        impl_->by_operator(impl_->servers.end_session(id));
    }
    impl_->note(process, "its sessions are ended");
}

void world::remove(const std::string& path)
{
    if (const auto* found = impl_->servers.decided().find(path)) {
        impl_->remove(*found);
        impl_->note("operator", "deletes " + path);
    }
}

std::vector<std::int64_t> world::sessions(const std::string& process) const
{
    auto all = impl_->get(process).sessions;
    std::erase_if(all, [this](std::int64_t id) { return !impl_->servers.session_lives(id); });
    return all;
}

std::vector<std::string> world::nodes(const std::string& path) const
{
    return impl_->servers.decided().children(path);
}

std::optional<std::string> world::data(const std::string& path) const
{
    const auto* found = impl_->servers.decided().find(path);
    return found == nullptr ? std::nullopt : std::optional{found->data};
}

// ---- the history

void world::note(const std::string& text)
{
    const auto* by = process::running();
    impl_->note(by == nullptr ? "test" : by->on().name(), text);
}

std::string world::history() const
{
    std::ostringstream text;
    impl_->past.print(text, impl_->began);
    return text.str();
}

std::uint64_t world::hash() const noexcept
{
    return impl_->past.hash();
}

} // namespace colock::testing
