#include "program.hpp"

#include "customer.hpp"
#include "guard_process.hpp"
#include "workloads.hpp"

#include <exception>
#include <utility>

namespace world::workload {

using namespace std::chrono_literals;

program::program(scene& in, machine& on, network& net, check::journal::actor name, random chance,
                 habits what)
    : all_{in}, machine_{on}, network_{net}, name_{name}, random_{chance}, habits_{what}
{
}

program::~program()
{
    end();
}

void program::start()
{
    all_.journal.note(check::deed::started, name_);
    if (!machine_.is_alive()) {
        machine_.start(); // the last one was killed
    }
    life_ = std::make_shared<check::life>();
    process_ = std::make_unique<process>(machine_, network_, random_.branch());
    if (all_.rare == rarity::guards) {
        all_.guards.process_began(machine_, life_);
        if (random_.per_mille(850)) {
            process_->find_guard = [this] { return find_guard(); };
        }
    }
    process_->enter([this] {
        for (std::size_t i = 0; i < habits_.clients; ++i) {
            ++running_;
            asio::co_spawn(process_->context(), career(random_.branch()),
                           [this](std::exception_ptr e) {
                               --running_;
                               if (e) {
                                   std::rethrow_exception(e);
                               }
                           });
        }
    });
}

void program::kill()
{
    if (process_) {
        all_.journal.note(check::deed::killed, name_);
        over();
        process_->kill();
        end();
    }
}

void program::kill_with_guards()
{
    for (const auto& each : guards_) {
        each->kill();
    }
    kill();
}

void program::suspend()
{
    machine_.suspend();
    for (const auto& each : guards_) {
        each->on().suspend();
    }
}

void program::wake()
{
    machine_.go_on();
    for (const auto& each : guards_) {
        each->go_on();
    }
}

void program::destroy()
{
    if (process_) {
        all_.journal.note(check::deed::destroyed, name_);
        end();
    }
}

void program::over()
{
    if (!std::exchange(life_->over, true)) {
        life_->ended = all_.time.now();
        all_.holds.process_over(*life_);
        all_.shards.process_over(*life_);
        all_.members.process_over(*life_);
        all_.rendezvous.process_over(*life_);
    }
}

void program::end()
{
    if (process_) {
        over();
        process_.reset();
        running_ = 0;
        if (auto* const left = std::exchange(guard_, nullptr)) {
            left->owner_died();
        }
    }
}

colock::guard::started_helper program::find_guard()
{
    if (guard_ != nullptr) {
        if (auto found = guard_->channel()) {
            return {std::move(found)};
        }
    }
    guards_.push_back(std::make_unique<guard_process>(
        all_, *process_, life_,
        all_.journal.add_actor(all_.journal.name_of(name_) + " guard", name_), random_.branch()));
    guard_ = guards_.back().get();
    return {guard_->channel()};
}

// One client after the other.
asio::awaitable<void> program::career(random chance)
{
    while (!all_.draining) {
        const auto who = all_.journal.add_actor(
            all_.journal.name_of(name_) + "." + std::to_string(++customers_), name_);
        const auto c = std::make_shared<customer>(all_, *process_, life_, who, chance.branch());
        co_await employ(c, chance.branch());
    }
}

asio::awaitable<void> program::employ(std::shared_ptr<customer> c, random chance)
{
    for (;;) {
        const auto [ec] = co_await c->zk->async_connect(c->tuple("async_connect"));
        if (!ec) {
            break;
        }
        c->ended("async_connect", ec);
        co_await c->pause(1ms, 100ms);
    }
    all_.journal.note(check::deed::connected, c->who, c->zk->session_id());
    engage(*c, chance);
    const auto since = all_.time.now();
    const auto attempts_before = c->zk->stats().connect_attempts;

    enum class end { quiet, close, destroy };
    auto how = end::quiet;
    if (habits_.restless && chance.per_mille(700)) {
        how = chance.per_mille(500) ? end::close : end::destroy;
        const auto until = all_.time.now() + chance.between(1s, 30s);
        while (!all_.draining && all_.time.now() < until) {
            co_await c->pause(10ms, 500ms);
        }
        if (all_.draining) {
            how = end::quiet;
        }
        if (chance.per_mille(300)) {
            how = end::quiet; // its users come to an end first
            c->leaving = true;
        }
    }
    if (how == end::quiet) {
        co_await c->all_done();
        co_await nothing_held(c);
    }
    c->leaving = true;
    const auto attempts = c->zk->stats().connect_attempts - attempts_before;
    const std::chrono::duration<double> lived = all_.time.now() - since;
    if (static_cast<double>(attempts) > 10 * lived.count() * 1.01 + 11) {
        all_.found.add("attempts", all_.journal.name_of(c->who) + " has tried to connect " +
                                       std::to_string(attempts) + " times in " +
                                       std::to_string(lived.count()) + " s");
    }
    if (how == end::destroy) {
        all_.journal.note(check::deed::destroyed, c->who);
        c->zk.reset();
    } else {
        all_.journal.note(check::deed::closed, c->who);
        const bool throttled = all_.rare == rarity::throttled; // it is not sent again
        const auto last = chance.per_mille(500) ? last_request(*c) : nullptr;
        canceller stop{*c, chance};
        stop.perhaps(100);
        const auto [ec] = co_await c->zk->async_close(c->tuple("async_close", stop.slot()));
        if (ec) {
            c->ended("async_close", ec);
        } else if (last && (!*last || (**last == colock::errc::client_closed && !throttled) ||
                            **last == colock::zookeeper_errc::connection_loss)) {
            all_.found.add("close", all_.journal.name_of(c->who) +
                                        " has ended its session, but not waited for an answer");
        }
    }
    co_await c->all_done();
}

// A client that closes waits for the answers to what it has sent. Returns a null pointer when it sends nothing now.
std::shared_ptr<std::optional<colock::error_code>> program::last_request(customer& c)
{
    if (c.zk->state() != colock::connection_state::connected) {
        return nullptr;
    }
    if (c.zk->stats().waiting != 0) {
        return nullptr; // it would wait behind writes that wait for the barrier's answer
    }
    auto answer = std::make_shared<std::optional<colock::error_code>>();
    c.zk->async_exists("/", c.counted("async_exists", [answer](colock::error_code ec, const auto&) {
        *answer = ec;
    }));
    return answer;
}

// When trouble is over, what is given up in the background is gone soon, and each grant has ended.
asio::awaitable<void> program::nothing_held(std::shared_ptr<customer> c)
{
    const auto latest = all_.time.now() + 30s;
    while (all_.draining) {
        const auto stats = c->zk->stats();
        const auto ended = stats.locks_released + stats.locks_lost;
        if (stats.contenders == 0 && stats.in_flight == 0 && stats.locks_granted == ended) {
            break;
        }
        if (all_.time.now() > latest) {
            all_.found.add("G3 release", all_.journal.name_of(c->who) + " was granted " +
                                             std::to_string(stats.locks_granted) +
                                             " locks, and has released " + std::to_string(ended) +
                                             "; " + std::to_string(stats.contenders) +
                                             " contenders are there");
            break;
        }
        co_await c->pause(50ms, 50ms);
    }
}

void program::engage(customer& c, random& chance)
{
    for (std::size_t i = 0; i < habits_.users; ++i) {
        const auto place = chance.below(all_.places.size());
        c.engage(some_user(c, place, chance));
    }
    if (all_.shared) {
        engage_for_shards(c, chance);
    }
    if (!all_.group.empty()) {
        engage_for_group(c, chance);
    }
    if (all_.meeting) {
        engage_for_rendezvous(c, chance);
    }
}

// A client runs the shards of a path once. Those without credentials could lead, but not read who the others are.
void program::engage_for_shards(customer& c, random& chance)
{
    const auto me = c.shared_from_this();
    const auto drawn = chance.below(100);
    if (drawn < 60 && !c.foreign) {
        c.engage(sharer(me, chance.branch()));
    } else if (drawn >= 90) {
        c.engage(stranger(me, chance.branch()));
    }
    if (!c.foreign && chance.per_mille(150)) {
        c.engage(looks_at_shards(me));
    }
}

void program::engage_for_group(customer& c, random& chance)
{
    const auto me = c.shared_from_this();
    if (!c.foreign && chance.per_mille(600)) {
        c.engage(joiner(me, chance.branch()));
    }
    if (!c.foreign && chance.per_mille(300)) {
        c.engage(looks_at_group(me, chance.branch()));
    }
}

void program::engage_for_rendezvous(customer& c, random& chance)
{
    const auto me = c.shared_from_this();
    if (!c.foreign && chance.per_mille(600)) {
        c.engage(goes_through_phases(me, chance.branch()));
    }
    if (!c.foreign && chance.per_mille(500)) {
        c.engage(meets_at_latches(me, chance.branch()));
    }
    if (!c.foreign && chance.per_mille(100)) {
        c.engage(takes_arrivals_out(me, chance.branch()));
    }
}

asio::awaitable<void> program::some_user(customer& c, std::size_t at, random& chance)
{
    const auto me = c.shared_from_this();
    const auto kind = c.at(at).kind;
    const auto drawn = chance.below(100);
    if (habits_.is_peer && kind == lock_kind::mutex &&
        c.at(at).layout == colock::curator_layout()) {
        return peer(me, at, chance.branch());
    }
    if (all_.rare == rarity::watches && drawn < 60) {
        return watcher(me, chance.branch());
    }
    if (all_.rare == rarity::together && drawn < 70) {
        return several(me, chance.branch());
    }
    if (all_.rare == rarity::bodies && drawn < 80 &&
        (kind == lock_kind::mutex || kind == lock_kind::shared_mutex)) {
        return bodies(me, at, chance.branch());
    }
    const bool more_nodes = all_.rare == rarity::stalls || all_.rare == rarity::writes;
    if (drawn < (more_nodes ? 40U : 5U)) {
        return nodes(me, chance.branch());
    }
    if (drawn < 15 && all_.several) {
        return several(me, chance.branch());
    }
    if (drawn < 25 && all_.onlookers) {
        return onlooker(me, at, chance.branch());
    }
    if (kind == lock_kind::election) {
        return candidate(me, at, chance.branch());
    }
    if (drawn < 40 && kind == lock_kind::mutex) {
        return crowd(me, at, chance.branch());
    }
    if (drawn < 50 && kind == lock_kind::shared_mutex) {
        return downgrades(me, at, chance.branch());
    }
    if (drawn < 60 && kind == lock_kind::recursive_mutex) {
        return recursion(me, at, chance.branch());
    }
    if (drawn < 65 && kind != lock_kind::recursive_mutex && kind != lock_kind::semaphore) {
        return bodies(me, at, chance.branch());
    }
    return turns(me, at, chance.branch());
}

} // namespace world::workload
