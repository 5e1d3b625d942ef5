#include "recipes/shards/assignment.hpp"

#include "names/taken_text.hpp"
#include "recipes/group/member_text.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

namespace colock::protocol {

namespace {

constexpr std::size_t nobody = static_cast<std::size_t>(-1);

bool refuses(const shard_taker& member, shard_index shard)
{
    return std::ranges::binary_search(member.refused, shard);
}

std::size_t place_of(std::span<const shard_taker> members, std::string_view name)
{
    const auto at = std::ranges::lower_bound(members, name, {}, &shard_taker::name);
    return at != members.end() && at->name == name ? static_cast<std::size_t>(at - members.begin())
                                                   : nobody;
}

// Each shard's member that still wants it.
std::vector<std::size_t> owned(std::span<const shard_taker> members, const shard_owners& now)
{
    std::vector<std::size_t> result;
    result.reserve(now.size());
    for (const auto& name : now) {
        const auto at = place_of(members, name);
        const auto shard = static_cast<shard_index>(result.size());
        result.push_back(at != nobody && refuses(members[at], shard) ? nobody : at);
    }
    return result;
}

// The one that lacks most of its part; of those that lack nothing, the one that has least for its weight.
std::size_t neediest(std::span<const shard_taker> members, std::span<const std::size_t> parts,
                     std::span<const std::size_t> has, shard_index shard)
{
    const auto lacks = [&](std::size_t m) { return parts[m] > has[m] ? parts[m] - has[m] : 0; };
    auto best = nobody;
    for (std::size_t m = 0; m != members.size(); ++m) {
        if (members[m].weight == 0 || refuses(members[m], shard)) {
            continue;
        }
        const bool better = best == nobody || lacks(m) > lacks(best) ||
                            (lacks(m) == 0 && lacks(best) == 0 &&
                             has[m] * members[best].weight < has[best] * members[m].weight);
        if (better) {
            best = m;
        }
    }
    return best;
}

} // namespace

std::vector<std::size_t> fair_parts(std::span<const shard_taker> members,
                                    std::span<const std::size_t> now, std::size_t shards)
{
    std::uint64_t sum = 0;
    for (const auto& m : members) {
        sum += m.weight;
    }
    std::vector<std::size_t> parts(members.size());
    if (sum == 0) {
        return parts;
    }
    std::vector<std::uint64_t> rests(members.size());
    auto left = shards;
    for (std::size_t m = 0; m != members.size(); ++m) {
        const auto all = std::uint64_t{shards} * members[m].weight;
        parts[m] = static_cast<std::size_t>(all / sum);
        rests[m] = all % sum;
        left -= parts[m];
    }
    std::vector<std::size_t> order(members.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // Those without a rest are never rounded up: `left` is less than the number of the others.
    std::erase_if(order, [&](std::size_t m) { return rests[m] == 0; });
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
        const bool keeps_a = now[a] > parts[a];
        const bool keeps_b = now[b] > parts[b];
        return keeps_a != keeps_b ? keeps_a : rests[a] != rests[b] ? rests[a] > rests[b] : a < b;
    });
    for (std::size_t i = 0; i != left; ++i) {
        ++parts[order[i]];
    }
    return parts;
}

shard_owners balanced(std::span<const shard_taker> members, const shard_owners& now)
{
    auto owner = owned(members, now);
    std::vector<std::size_t> has(members.size());
    for (const auto m : owner) {
        if (m != nobody) {
            ++has[m];
        }
    }
    const auto parts = fair_parts(members, has, now.size());
    for (auto& m : has) {
        m = 0;
    }
    std::vector<shard_index> free;
    for (std::size_t s = 0; s != owner.size(); ++s) {
        if (owner[s] != nobody && has[owner[s]] < parts[owner[s]]) {
            ++has[owner[s]];
        } else {
            free.push_back(static_cast<shard_index>(s));
        }
    }
    for (const auto s : free) {
        const auto before = owner[s];
        auto to = neediest(members, parts, has, s);
        // Where others refuse it, it stays.
        if (to == nobody ||
            (before != nobody && members[before].weight != 0 && has[to] >= parts[to])) {
            to = before != nobody && members[before].weight != 0 ? before : to;
        }
        owner[s] = to;
        if (to != nobody) {
            ++has[to];
        }
    }
    shard_owners result;
    result.reserve(owner.size());
    for (const auto m : owner) {
        result.push_back(m == nobody ? std::string{} : members[m].name);
    }
    return result;
}

shard_owners next_step(std::span<const shard_taker> members, const shard_owners& now, bool settled,
                       std::size_t most)
{
    const auto whole = balanced(members, now);
    const auto owner = owned(members, now);
    auto result = now;
    for (std::size_t s = 0; s != now.size(); ++s) {
        if (owner[s] == nobody) {
            result[s] = whole[s];
        } else if (whole[s] != now[s] && most != 0 && (settled || members[owner[s]].weight == 0)) {
            result[s] = whole[s];
            --most;
        }
    }
    return result;
}

// ---- the text

std::string ranges_of(std::span<const shard_index> ascending)
{
    std::string text;
    for (auto at = ascending.begin(); at != ascending.end();) {
        const auto first = *at;
        auto last = first;
        while (++at != ascending.end() && *at == last + 1) {
            last = *at;
        }
        text += (text.empty() ? "" : ",") + std::to_string(first);
        if (last != first) {
            text += "-" + std::to_string(last);
        }
    }
    return text;
}

namespace {

// Without a zero before it.
std::optional<shard_index> take_index(std::string_view& text)
{
    const auto whole = text;
    const auto number = take_number<shard_index>(text);
    return whole.starts_with('0') && whole.size() - text.size() > 1 ? std::nullopt : number;
}

std::string_view take_line(std::string_view& text)
{
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

} // namespace

std::optional<std::vector<shard_index>> numbers_in(std::string_view ranges, std::size_t end)
{
    std::vector<shard_index> numbers;
    while (!ranges.empty()) {
        const auto first = take_index(ranges);
        const auto last = first && take(ranges, "-") ? take_index(ranges) : first;
        if (!first || !last || *last < *first || *last >= end ||
            (!numbers.empty() && *first <= numbers.back()) ||
            (!ranges.empty() && (!take(ranges, ",") || ranges.empty()))) {
            return std::nullopt;
        }
        for (auto n = *first; n <= *last; ++n) {
            numbers.push_back(n);
        }
    }
    return numbers;
}

std::string text_of(const shard_table& table)
{
    std::map<std::string_view, std::vector<shard_index>> by_name;
    for (std::size_t s = 0; s != table.owners.size(); ++s) {
        by_name[table.owners[s]].push_back(static_cast<shard_index>(s));
    }
    auto text = std::to_string(table.owners.size()) + " shards\n";
    for (const auto& [name, shards] : by_name) {
        if (name.empty()) {
            text += "nobody " + ranges_of(shards);
        } else {
            text += ranges_of(shards) + " ";
            text += name;
        }
        text += "\n";
    }
    if (!table.moving.empty()) {
        text += "moving " + ranges_of(table.moving) + "\n";
    }
    return text;
}

std::optional<shard_table> shard_table_in(std::string_view text)
{
    const bool is_whole = text.ends_with('\n');
    auto head = take_line(text);
    const auto count = take_index(head);
    if (!is_whole || !count || *count > most_shards || head != " shards") {
        return std::nullopt;
    }
    shard_table table{.owners = shard_owners(*count)};
    std::vector<bool> is_told(*count);
    while (!text.empty()) {
        auto line = take_line(text);
        const bool is_moving = take(line, "moving ");
        const bool is_nobodys = !is_moving && take(line, "nobody ");
        const auto ranges = line.substr(0, line.find(' '));
        const auto numbers = numbers_in(ranges, *count);
        line.remove_prefix(ranges.size());
        if (!numbers || numbers->empty() || (is_moving || is_nobodys) != line.empty()) {
            return std::nullopt;
        }
        if (is_moving) {
            if (!table.moving.empty()) {
                return std::nullopt;
            }
            table.moving = *numbers;
            continue;
        }
        line.remove_prefix(is_nobodys ? 0 : 1);
        if (!is_nobodys && !member_name_fault(line).empty()) {
            return std::nullopt;
        }
        for (const auto s : *numbers) {
            if (is_told[s]) {
                return std::nullopt;
            }
            is_told[s] = true;
            table.owners[s] = line;
        }
    }
    return std::ranges::all_of(is_told, std::identity{}) ? std::optional{table} : std::nullopt;
}

} // namespace colock::protocol
