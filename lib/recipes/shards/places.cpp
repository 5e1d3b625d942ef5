#include "recipes/shards/places.hpp"

#include "names/path.hpp"
#include "recipes/group/member_text.hpp"
#include "recipes/shards/assignment.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>

namespace colock::detail {

shard_paths shard_paths_of(const std::string& path)
{
    const auto child = [&](std::string_view name) { return protocol::join_path(path, name); };
    return {.members = child("members"),
            .leader = child("leader"),
            .use = child("use"),
            .definition = child("definition"),
            .assignment = child("assignment"),
            .locks = child("locks")};
}

std::vector<shard_id> shards_of(const shards_options& o)
{
    std::vector<shard_id> all;
    for (const auto& name : o.names) {
        all.push_back({static_cast<std::uint32_t>(all.size()), name});
    }
    while (all.size() < o.count) {
        const auto index = static_cast<std::uint32_t>(all.size());
        all.push_back({index, std::to_string(index)});
    }
    return all;
}

namespace {

// A multiple of the longest time can be told by all clocks.
shards_options with_times_that_end(shards_options o)
{
    constexpr std::chrono::milliseconds longest = std::chrono::hours{24 * 365};
    for (auto* const each : {&o.settle, &o.prepare_limit, &o.take_limit}) {
        *each = std::min(*each, longest);
    }
    return o;
}

} // namespace

shards_config::shards_config(const std::string& root, const shards_options& o)
    : options{with_times_that_end(o)}, path{root}, paths{shard_paths_of(root)},
      shards{shards_of(o)}, name{member_of(o)}
{
}

std::string lock_path_of(const shard_paths& p, const shard_id& shard)
{
    return protocol::join_path(p.locks, shard.name);
}

std::string definition_of(const shards_options& o)
{
    if (o.names.empty()) {
        return std::to_string(o.count) + " shards";
    }
    std::string text = "shards:";
    for (const auto& name : o.names) {
        text += "\n" + name;
    }
    return text;
}

shards_options defined_in(std::string_view text)
{
    constexpr std::string_view named = "shards:\n";
    shards_options o;
    if (text.starts_with(named)) {
        for (auto at = named.size(); at <= text.size();) {
            const auto end = std::min(text.find('\n', at), text.size());
            o.names.emplace_back(text.substr(at, end - at));
            at = end + 1;
        }
    } else {
        std::from_chars(text.data(), text.data() + text.size(), o.count);
    }
    return definition_of(o) == text && fault_of(o).empty() ? o : shards_options{};
}

std::string fault_of(const shards_options& o)
{
    if (o.names.empty() == (o.count == 0)) {
        return "give either the number of the shards or their names";
    }
    if (std::max(o.count, o.names.size()) > protocol::most_shards) {
        return "there are more than 100,000 shards";
    }
    for (const auto& name : o.names) {
        if (const auto fault = protocol::member_name_fault(name); !fault.empty()) {
            return "of the shard '" + name + "' " + fault;
        }
    }
    if (std::set<std::string_view>{o.names.begin(), o.names.end()}.size() != o.names.size()) {
        return "two shards have the same name";
    }
    if (const auto fault = protocol::member_name_fault(member_of(o)); !fault.empty()) {
        return "of the member " + fault;
    }
    if (o.moves_at_a_time == 0) {
        return "moves_at_a_time is 0, so that no shard would ever move";
    }
    if (o.settle < o.settle.zero() || o.prepare_limit <= o.prepare_limit.zero() ||
        o.take_limit <= o.take_limit.zero()) {
        return "settle, prepare_limit or take_limit is not positive";
    }
    return {};
}

std::string member_of(const shards_options& o)
{
    if (!o.member.empty()) {
        return o.member;
    }
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    auto name = std::string{host} + "-" + std::to_string(::getpid());
    std::ranges::replace(name, '/', '-');
    return name;
}

} // namespace colock::detail
