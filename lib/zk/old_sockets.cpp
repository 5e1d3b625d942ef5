#include "zk/old_sockets.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace colock::zk {

namespace {

using clock = std::chrono::steady_clock;

// No ensemble waits so long for a member that has fallen silent: what such a member forwards later is refused.
constexpr auto longest_wait = std::chrono::minutes{10};

// There are hardly so many servers. When there are, the oldest socket goes.
constexpr std::size_t most_sockets = 64;

} // namespace

void old_sockets::add(const std::string& address, std::shared_ptr<old_socket> socket)
{
    forget_harmless(address);
    if (all_.size() == most_sockets) {
        all_.front().socket->close();
        all_.erase(all_.begin());
    }
    all_.push_back({address, clock::now(), std::move(socket)});
    all_.back().socket->finish();
}

bool old_sockets::is_open(const std::string& address)
{
    forget_harmless();
    return std::ranges::any_of(all_, [&](const entry& each) { return each.address == address; });
}

void old_sockets::clear() noexcept
{
    for (const auto& each : std::exchange(all_, {})) {
        each.socket->close();
    }
}

void old_sockets::forget_harmless(std::string_view replaced)
{
    const auto now = clock::now();
    std::erase_if(all_, [&](const entry& each) {
        const bool over =
            each.address == replaced || each.socket->is_over() || now - each.since > longest_wait;
        if (over) {
            each.socket->close();
        }
        return over;
    });
}

} // namespace colock::zk
