#include "look/spread.hpp"

#include <colock/diagnostics.hpp>

#include "connect/awaiting.hpp"
#include "names/node_path.hpp"
#include "program/failure.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace colock::cli {

namespace asio = boost::asio;

namespace {

std::string ranges_of(const std::vector<std::uint32_t>& ascending)
{
    std::string text;
    for (std::size_t i = 0; i != ascending.size();) {
        const auto first = ascending[i];
        auto last = first;
        while (++i != ascending.size() && ascending[i] == last + 1) {
            ++last;
        }
        text += (text.empty() ? "" : ",") + std::to_string(first) +
                (last == first ? "" : '-' + std::to_string(last));
    }
    return text;
}

} // namespace

bool moves(const shard_owner& s)
{
    return s.assigned && s.assigned != s.owner;
}

bool is_member(const spread& s, const std::string& name)
{
    return std::ranges::any_of(s.members,
                               [&](const spread_member& m) { return m.who.name == name; });
}

spread spread_of(std::vector<member_view> members, std::vector<shard_owner> shards)
{
    spread all;
    double weights = 0;
    for (auto& each : members) {
        weights += each.weight;
        all.members.push_back({.who = std::move(each), .shards = {}});
    }
    for (auto& m : all.members) {
        m.part = weights > 0 ? static_cast<double>(shards.size()) * m.who.weight / weights : 0;
        std::vector<std::uint32_t> own;
        for (const auto& s : shards) {
            m.assigned += s.assigned == m.who.name;
            if (s.owner == m.who.name) {
                own.push_back(s.shard.index);
            }
        }
        m.owned = own.size();
        m.shards = ranges_of(own);
    }
    all.shards = std::move(shards);
    for (const auto& s : all.shards) {
        all.owned += s.owner.has_value();
        all.moving += moves(s);
    }
    all.is_even = !all.members.empty() && std::ranges::all_of(all.members, [](auto& m) {
        return std::abs(static_cast<double>(m.owned) - m.part) < 1;
    });
    return all;
}

asio::awaitable<spread> look_at_spread(client& zk, std::string path)
{
    diagnostics why;
    const shards looking{zk, path, {}};
    auto [ec, owners] = co_await looking.async_owners(bind_diagnostics(why, no_throw));
    if (ec) {
        throw failure_of(ec, why.message());
    }
    const group them{zk, child_of(path, "members")};
    auto [failed, members] = co_await them.async_members(bind_diagnostics(why, no_throw));
    if (failed) {
        throw failure_of(failed, why.message());
    }
    co_return spread_of(std::move(members), std::move(owners));
}

} // namespace colock::cli
