#include "plan.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <string_view>

namespace chaos {

namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

struct weight {
    chaos::kind kind;
    int weight;
    std::string_view name;
    milliseconds shortest, longest;
};

constexpr std::array<weight, 15> weights{{
    {kind::kill_client, 12, "client killed", 200ms, 4s},
    {kind::stop_client, 12, "client stopped", 200ms, 16s},
    {kind::restart_client, 6, "client restarted", 0ms, 2s},
    {kind::kill_server, 9, "server killed", 300ms, 5s},
    {kind::stop_server, 9, "server stopped", 200ms, 8s},
    {kind::restart_server, 4, "server restarted", 300ms, 3s},
    {kind::cut_client_server, 8, "client|server", 500ms, 8s},
    {kind::cut_client, 14, "client|servers", 500ms, 20s},
    {kind::cut_follower_leader, 16, "follower|leader", 3s, 18s},
    {kind::cut_leader_rest, 6, "leader|rest", 1s, 10s},
    {kind::cut_server_clients, 5, "server|clients", 500ms, 8s},
    {kind::delay_clients, 4, "delay at a client", 1s, 8s},
    {kind::delay_server, 5, "delay among servers", 1s, 8s},
    {kind::lose_clients, 4, "loss at a client", 1s, 8s},
    {kind::lose_server, 5, "loss among servers", 1s, 8s},
}};

constexpr milliseconds longest = std::ranges::max(weights, {}, &weight::longest).longest;

} // namespace

std::string name_of(kind k)
{
    return std::string{std::ranges::find(weights, k, &weight::kind)->name};
}

std::vector<fault> plan(std::uint64_t seed, milliseconds time, int faults_a_minute,
                        std::size_t clients)
{
    std::mt19937_64 random{seed};
    const auto draw = [&](std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>{least, most}(random);
    };
    int sum = 0;
    for (const auto& w : weights) {
        sum += w.weight;
    }

    const auto number = time * faults_a_minute / 1min;
    const auto last = std::max(time - longest, time / 2);
    std::vector<fault> faults;
    for (std::int64_t i = 0; i != number; ++i) {
        fault f;
        auto chosen = draw(1, sum);
        const auto* w = weights.begin();
        while (chosen > w->weight) {
            chosen -= w->weight;
            ++w;
        }
        f.kind = w->kind;
        // Every fifth one comes together with the one before.
        const bool combined = !faults.empty() && draw(1, 5) == 1;
        const auto own = last * i / number + milliseconds{draw(0, last.count() / number)};
        f.at = combined ? faults.back().at : own;
        f.lasts = w->shortest + milliseconds{draw(0, (w->longest - w->shortest).count())};
        f.lasts = std::min(f.lasts, time - f.at);
        f.client = static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(clients) - 1));
        f.holder = draw(0, 1) == 0;
        f.leader = draw(0, 1) == 0;
        f.other = static_cast<std::size_t>(draw(0, 1));
        f.direction = static_cast<chaos::direction>(draw(0, 2));
        if (f.kind == kind::delay_clients || f.kind == kind::delay_server) {
            f.lost = 0;
            f.delay = milliseconds{draw(10, 400)};
        } else if (f.kind == kind::lose_clients || f.kind == kind::lose_server) {
            f.lost = static_cast<int>(draw(5, 50));
        }
        faults.push_back(f);
    }
    std::ranges::stable_sort(faults, {}, &fault::at);
    return faults;
}

} // namespace chaos
