#include "drawn.hpp"

#include <colock/layout.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

namespace world {

using namespace std::chrono_literals;

int some_drift(random& chance)
{
    return static_cast<int>(chance.between(-4900, 4900));
}

ensemble_options draw_ensemble(random& chance, rarity rare)
{
    ensemble_options o;
    constexpr int ticks[] = {500, 1000, 2000};
    o.tick = std::chrono::milliseconds{ticks[chance.below(3)]};
    const bool exact = chance.per_mille(300);
    for (std::size_t i = 0; i < o.servers; ++i) {
        o.drifts.push_back(exact ? 0 : some_drift(chance));
    }
    if (chance.per_mille(200)) {
        // Sessions get a shorter time-out when they move to another server.
        for (std::size_t i = 0; i < o.servers; ++i) {
            o.most_sessions.push_back(chance.between(3500, 5000) * o.tick / 1000);
        }
    }
    if (rare == rarity::uneven) {
        random some = chance;
        o.tick = some.per_mille(500) ? 500ms : 1000ms;
        o.most_sessions.assign(o.servers, 20 * o.tick);
        o.most_sessions[some.below(o.servers)] = 3 * o.tick;
        some.pick(o.most_sessions) = 3 * o.tick;
    } else if (rare == rarity::stalls) {
        o.tick = 500ms;
        o.sync_limit = 100; // the leader waits for a follower that stalls
        o.most_sessions.clear();
    } else if (rare == rarity::guards) {
        o.tick = 500ms; // so that much happens in many time-outs
        o.most_sessions.clear();
    } else if (rare == rarity::late || rare == rarity::alone) {
        o.tick = 500ms;
        o.most_sessions.clear();
    } else if (rare == rarity::throttled) {
        random some = chance;
        o.throttled = static_cast<unsigned>(some.between(20, 300));
    }
    return o;
}

workload::shared_work draw_shards(std::string path, std::chrono::milliseconds least_timeout,
                                  random& own, check::queues& queues, check::shards& shards)
{
    workload::shared_work w;
    w.path = std::move(path);
    w.settle = std::chrono::milliseconds{own.per_mille(750) ? own.between(0, 1000)
                                                            : own.between(3000, 5000)};
    w.prepare_limit = std::chrono::milliseconds{own.between(50, 300)};
    w.take_limit = std::chrono::milliseconds{own.between(1000, 1500)};
    w.safety_margin = std::chrono::milliseconds{own.per_mille(700) ? 0 : least_timeout.count() / 5};
    constexpr std::size_t moves[] = {1, 2, 16};
    w.moves_at_a_time = moves[own.below(3)];
    w.bodies_end = own.per_mille(300);
    check::shards::place p;
    for (auto count = own.between(2, 6); count > 0; --count) {
        check::queues::place q;
        q.path = w.path + "/locks/" + std::to_string(w.locks.size());
        q.marker = colock::curator_layout().marker;
        q.has_onlookers = q.silent = true; // a body may run for long
        w.locks.push_back(queues.add(std::move(q)));
    }
    check::queues::place leader;
    leader.path = w.path + "/leader";
    leader.marker = colock::curator_latch_layout().marker;
    leader.has_onlookers = leader.silent = true;
    p.leader = queues.add(std::move(leader));
    check::queues::place use;
    use.path = w.path + "/use";
    use.marker = colock::curator_shared_layout().marker;
    use.shared_marker = colock::curator_shared_layout().shared_marker;
    use.silent = true;
    queues.add(std::move(use));
    p.path = w.path;
    p.locks = w.locks;
    p.settle = w.settle;
    p.prepare = w.prepare_limit;
    p.take = w.take_limit;
    p.moves_at_a_time = w.moves_at_a_time;
    p.bodies_end = w.bodies_end;
    shards.add(std::move(p));
    return w;
}

check::rendezvous::place draw_meeting(const std::string& base, random& own)
{
    return {.latches = base + "/latches",
            .barrier = base + "/barrier",
            .count = static_cast<std::size_t>(own.per_mille(100) ? 1 : own.between(2, 4))};
}

} // namespace world
