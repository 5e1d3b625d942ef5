#include "memory_server.hpp"

#include "client_port.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace colock::testing {

namespace {

using namespace std::chrono_literals;

// A millisecond has room for so many transactions: the numbers of another server, which begins later, are higher.
constexpr std::int64_t transactions_a_millisecond = 1'000'000;
// Numbers from 1970 on would not fit for long.
constexpr std::chrono::milliseconds year_2020{1'577'836'800'000};

simulated::ensemble_options options_of(const server_settings& s, std::chrono::milliseconds tick)
{
    const auto wall = std::chrono::duration_cast<std::chrono::milliseconds>(s.since_1970);
    const auto since_2020 = std::max(wall - year_2020, std::chrono::milliseconds{0});
    return {.servers = 1,
            .tick = tick,
            .least_session = s.least_session,
            .most_session = s.most_session,
            .container_check = s.container_check,
            .exists_needs_read = s.exists_needs_read,
            .least_disk = 0ns,
            .most_disk = 0ns,
            .threads = {},
            .actual = {.up = s.since_1970,
                       .since_1970 = 0ms,
                       .first_transaction = since_2020.count() * transactions_a_millisecond,
                       .secret = s.secret,
                       .most = {s.limits.nodes, s.limits.bytes},
                       .knows_certificates = s.knows_certificates,
                       .is_observed = false}};
}

} // namespace

memory_server::memory_server(server_settings settings)
    : settings_{std::move(settings)}, net_{time_, simulated::random{settings_.seed}},
      servers_{time_, net_, simulated::random{settings_.seed + 1}, options_of(settings_, tick())}
{
    net_.delay_all(std::chrono::microseconds{0}, std::chrono::microseconds{0});
    advance(0ns);
}

// ZooKeeper's own, unless sessions are to be shorter than it allows. Half of it has to be some time, too.
std::chrono::milliseconds memory_server::tick() const noexcept
{
    return std::clamp(settings_.least_session / 2, std::chrono::milliseconds{2},
                      std::chrono::milliseconds{2'000});
}

std::chrono::milliseconds memory_server::clock() const noexcept
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(settings_.since_1970 + now());
}

bool memory_server::is_paused()
{
    return !servers_.machine_of(0).is_running();
}

void memory_server::expire(std::int64_t session)
{
    if (is_paused()) {
        later_.push_back([this, session] { expire(session); });
        return;
    }
    servers_.end_session(session);
    advance(now());
}

void memory_server::pause() noexcept
{
    servers_.machine_of(0).stop();
}

void memory_server::resume()
{
    servers_.machine_of(0).go_on();
    advance(now());
    for (const auto& what : std::exchange(later_, {})) {
        what();
    }
    const auto ports = ports_; // one that is over may be closed at once
    for (const auto& [number, port] : ports) {
        if (ports_.contains(number)) {
            port->work();
        }
    }
}

void memory_server::delay(std::chrono::microseconds each_way)
{
    net_.delay_all(each_way, each_way);
}

void memory_server::remove(const std::string& path)
{
    if (is_paused()) {
        later_.push_back([this, path] { remove(path); });
        return;
    }
    std::vector<std::string> all;
    if (const auto* n = nodes().find(path)) {
        std::vector<const simulated::tree::node*> left{n};
        while (!left.empty()) {
            const auto* const next = left.back();
            left.pop_back();
            left.insert(left.end(), next->children.begin(), next->children.end());
            all.push_back(next->path);
        }
    }
    for (; !all.empty(); all.pop_back()) { // parents last
        servers_.remove_by_hand(std::move(all.back()));
        advance(now());
    }
}

simulated::machine* memory_server::host_of(const std::string& address)
{
    if (const auto at = hosts_.find(address); at != hosts_.end()) {
        return &at->second;
    }
    if (hosts_.size() >= settings_.limits.addresses) {
        return nullptr;
    }
    return &hosts_.try_emplace(address, time_, address).first->second;
}

} // namespace colock::testing
