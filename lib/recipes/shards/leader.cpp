#include "recipes/shards/leader.hpp"

#include <algorithm>

namespace colock::protocol {

shard_leader::shard_leader(const rules& r, shard_table written, time_point now)
    : rules_{r}, table_{std::move(written)}, changed_{now}
{
    for (const auto s : table_.moving) {
        moves_.emplace(s, move{now, true});
    }
}

void shard_leader::members(std::vector<shard_taker> all, time_point now)
{
    if (all != members_) {
        members_ = std::move(all);
        changed_ = now;
        late_.clear();
    }
}

void shard_leader::taken(shard_index shard)
{
    moves_.erase(shard);
}

std::size_t shard_leader::moves_under_way(time_point now) const
{
    return static_cast<std::size_t>(std::ranges::count_if(moves_, [&](const auto& m) {
        return m.second.planned && now < m.second.since + rules_.prepare;
    }));
}

// The shard counts as one without an owner: whoever holds its lock holds it on, until another member is in the queue.
void shard_leader::give_up_late_moves(time_point now)
{
    std::erase_if(late_, [&](const auto& l) { return now >= l.second; });
    std::erase_if(moves_, [&](const auto& m) {
        const auto& [shard, how] = m;
        const bool late = now >= how.since + rules_.take;
        if (late) {
            late_[{shard, table_.owners[shard]}] = now + 10 * rules_.take;
        }
        return late;
    });
    // Where all have had their time, the last one keeps it: it may hold the lock, and nobody else would be better.
    std::erase_if(late_, [&](const auto& l) {
        const auto& [shard, name] = l.first;
        const auto is_another = [&, at = shard, than = name](const shard_taker& m) {
            return m.weight != 0 && m.name != than && !std::ranges::binary_search(m.refused, at) &&
                   !late_.contains({at, m.name});
        };
        return name == table_.owners[shard] && std::ranges::none_of(members_, is_another);
    });
}

std::vector<shard_taker> shard_leader::takers() const
{
    auto all = members_;
    for (const auto& [what, until] : late_) {
        const auto at = std::ranges::find(all, what.second, &shard_taker::name);
        if (at != all.end()) {
            auto& refused = at->refused;
            const auto place = std::ranges::lower_bound(refused, what.first);
            if (place == refused.end() || *place != what.first) {
                refused.insert(place, what.first);
            }
        }
    }
    return all;
}

std::optional<shard_table> shard_leader::decide(time_point now)
{
    give_up_late_moves(now);
    const auto busy = moves_under_way(now);
    // Some at a time, and not one after the other: each table is read by all members.
    const auto unused = rules_.moves_at_a_time - std::min(busy, rules_.moves_at_a_time);
    const auto free = busy != 0 && unused < (rules_.moves_at_a_time + 1) / 2 ? 0 : unused;
    const auto all = takers();
    auto owners = next_step(all, table_.owners, now >= changed_ + rules_.settle, free);
    if (owners == table_.owners) {
        return std::nullopt;
    }
    for (std::size_t s = 0; s != owners.size(); ++s) {
        if (owners[s] == table_.owners[s]) {
            continue;
        }
        const auto shard = static_cast<shard_index>(s);
        if (owners[s].empty()) {
            moves_.erase(shard);
        } else {
            const auto& before = table_.owners[s];
            const bool planned =
                std::ranges::any_of(all, [&](const auto& m) { return m.name == before; });
            moves_.insert_or_assign(shard, move{now, planned});
        }
    }
    table_.owners = std::move(owners);
    table_.moving.clear();
    for (const auto& [shard, how] : moves_) {
        table_.moving.push_back(shard);
    }
    return table_;
}

shard_leader::time_point shard_leader::next(time_point now) const
{
    auto soonest = time_point::max();
    const auto by = [&](time_point when) {
        if (when > now) {
            soonest = std::min(soonest, when);
        }
    };
    for (const auto& [shard, how] : moves_) {
        by(how.since + rules_.prepare);
        by(how.since + rules_.take);
    }
    for (const auto& [what, until] : late_) {
        by(until);
    }
    by(changed_ + rules_.settle);
    return soonest;
}

} // namespace colock::protocol
