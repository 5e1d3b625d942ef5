#include "run/outer_locks.hpp"

#include <colock/layout.hpp>

#include "names/node_path.hpp"
#include "program/text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <set>

namespace colock::cli {

namespace {

constexpr char tab = '\t'; // no path of ZooKeeper has control characters
constexpr std::size_t most_nodes = 64;
constexpr std::size_t longest_node = 4096;
constexpr std::size_t most_bytes = 16'384; // an environment has little room

bool can_be_node(std::string_view text)
{
    const auto controls = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
    return text.starts_with('/') && text.size() <= longest_node &&
           std::ranges::none_of(text, controls);
}

// To clients with different chroots one path of a node is the end of the other.
bool may_be_one(std::string_view path, std::string_view other)
{
    return path.ends_with(other) || other.ends_with(path);
}

// Below another chroot only a name with a UUID says which node it is.
bool is_one(const std::string& node, const std::string& other)
{
    const auto name = last_name(node);
    return node == other || (name.starts_with(curator_layout().prefix) &&
                             name == last_name(other) && may_be_one(node, other));
}

void add(std::vector<std::string>& nodes, std::string_view node)
{
    if (can_be_node(node)) {
        std::erase(nodes, node);
        nodes.emplace_back(node);
    }
}

void keep_innermost(std::vector<std::string>& nodes)
{
    std::size_t bytes = 0;
    std::size_t kept = 0;
    while (kept < std::min(nodes.size(), most_nodes) &&
           (bytes += nodes[nodes.size() - 1 - kept].size() + 1) <= most_bytes) {
        ++kept;
    }
    nodes.erase(nodes.begin(), nodes.end() - static_cast<std::ptrdiff_t>(kept));
}

} // namespace

std::vector<std::string> outer_nodes(std::string_view all, std::string_view innermost)
{
    std::vector<std::string> nodes;
    all.remove_prefix(all.size() - std::min(all.size(), most_bytes)); // before it costs time
    while (!all.empty()) {
        const auto end = std::min(all.find(tab), all.size());
        add(nodes, all.substr(0, end));
        all.remove_prefix(std::min(end + 1, all.size()));
    }
    add(nodes, innermost);
    keep_innermost(nodes);
    return nodes;
}

std::vector<std::string> outer_nodes()
{
    const char* const all = std::getenv("COLOCK_NODES");
    const char* const innermost = std::getenv("COLOCK_NODE");
    return outer_nodes(all ? all : "", innermost ? innermost : "");
}

std::string nodes_for_command(std::vector<std::string> outer, const std::vector<std::string>& own)
{
    for (const auto& node : own) {
        add(outer, node);
    }
    keep_innermost(outer);
    return joined(outer, {&tab, 1});
}

bool may_wait_for_itself(const lock_choice& wanted, const std::vector<std::string>& outer)
{
    const bool is_semaphore = std::holds_alternative<as_permits>(wanted.kind);
    const auto directory = wanted.path + (is_semaphore ? "/leases" : "");
    return std::ranges::any_of(
        outer, [&](const std::string& node) { return may_be_one(parent_of(node), directory); });
}

bool waits_for_itself(const lock_choice& wanted, const queue_view& queue,
                      const std::vector<std::string>& outer,
                      std::optional<std::int64_t> own_session)
{
    const auto& all = queue.entries;
    const auto is_outer = [&](const queue_entry& e) {
        return std::ranges::any_of(outer,
                                   [&](const std::string& node) { return is_one(node, e.path); });
    };
    if (const auto* const permits = std::get_if<as_permits>(&wanted.kind)) {
        // All permits of a command are of one session, and one of them is known by its node.
        std::set<std::int64_t> sessions;
        for (const auto& e : queue.holders()) {
            if (is_outer(e)) {
                sessions.insert(e.session);
            }
        }
        const auto kept = std::ranges::count_if(
            queue.holders(), [&](const queue_entry& e) { return sessions.contains(e.session); });
        return kept != 0 && permits->wanted > permits->all - kept;
    }
    const auto first = std::ranges::find_if(all, is_outer);
    const auto own = !own_session ? all.end() : std::find_if(first, all.end(), [&](auto& e) {
        return !e.unread && e.session == own_session;
    });
    if (first == all.end() || (own_session && own == all.end())) {
        return false;
    }
    // Readers wait for no other readers, but for a writer that waits for these.
    return !std::holds_alternative<as_reader>(wanted.kind) ||
           std::any_of(first, own, [](const queue_entry& e) { return !e.shared; });
}

} // namespace colock::cli
