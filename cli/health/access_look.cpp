#include "health/access_look.hpp"

#include "connect/awaiting.hpp"
#include "connect/identities.hpp"
#include "health/scratch.hpp"
#include "program/failure.hpp"

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace colock::cli {

namespace asio = boost::asio;

namespace {

// `root` is empty where no command can be given.
std::string recipe(const findings& found, const std::string& root)
{
    std::string text = "; docs/security.md has the recipe: an identity, lists of its own, and a "
                       "protected root above the locks, which `colock root` makes";
    if (root.empty() && found.shows_identity) {
        text += ". This may be a free lock: name the PATH above it to get the command";
    }
    return text;
}

// Makes a protected root there, in the way of that recipe: not of all nodes, and for those who show who they are.
std::string command_for_root(const findings& found, const std::string& root, bool is_open)
{
    const auto word = shell_word(root);
    if (root.empty() || root == "/" || word.empty() || !found.shows_identity) {
        return {};
    }
    return "colock root" + found.options_of_servers + (is_open ? " --take-over " : " ") + word;
}

// What it does to others, where a list is open.
std::string words_on(const std::string& command, const std::string& root)
{
    return command.empty() ? command
                           : ". Add an --allow for each other who uses anything in " + root +
                                 ": with --take-over, the rest loses access";
}

// Of a lock, what is above it: other libraries take any node in its directory for a contender. Empty where that may be the
// directory of a free lock, which has no nodes, or has gone.
asio::awaitable<std::string> place_for_root(client& zk, std::string path)
{
    const auto [ec, found] = co_await zk.async_children(path, no_throw);
    if (ec || found.names.empty()) {
        co_return std::string{};
    }
    if (std::ranges::any_of(found.names, is_contender_name)) {
        co_return parent_of(path);
    }
    co_return path;
}

// "create, delete and write"
std::string words_for(std::int32_t permissions)
{
    static constexpr std::array names{
        std::pair{permission_create, "create"}, std::pair{permission_delete, "delete"},
        std::pair{permission_write, "write"}, std::pair{permission_admin, "change the list"},
        std::pair{permission_read, "read"}};
    std::vector<std::string> words;
    for (const auto& [bit, name] : names) {
        if (permissions & bit) {
            words.emplace_back(name);
        }
    }
    std::string out;
    for (std::size_t i = 0; i < words.size(); ++i) {
        out += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
    }
    return out;
}

bool is_everybody(const acl_entry& e)
{
    return (e.scheme == "world" && e.id == "anyone") || (e.scheme == "ip" && e.id.ends_with("/0"));
}

// The entry that lets everybody do more than read, if there is one.
const acl_entry* open_entry(const access_control_list& list,
                            std::int32_t harmful = permission_all & ~permission_read)
{
    const auto at = std::ranges::find_if(
        list, [&](const auto& e) { return is_everybody(e) && (e.permissions & harmful); });
    return at == list.end() ? nullptr : &*at;
}

std::string all_of(const access_control_list& list)
{
    std::string out;
    for (const auto& e : list) {
        out += (out.empty() ? "" : "; ") + name_of(e) + " may " +
               (e.permissions == permission_all ? "do all" : words_for(e.permissions));
    }
    return out;
}

struct reading {
    error_code error;
    access_control_list list;
    node_stat stat;
};

asio::awaitable<reading> read_list(client& zk, std::string path)
{
    auto [ec, found] = co_await zk.async_get_acl(path, no_throw);
    if (ec == asio::error::operation_aborted) {
        throw boost::system::system_error{ec};
    }
    reading r;
    r.error = ec;
    r.list = std::move(found.acl);
    r.stat = found.stat;
    co_return r;
}

void say_unread(const std::string& path, const error_code& ec, findings& found)
{
    found.add(severity::unknown, "access",
              "cannot read the list of " + path + ": " + in_own_words(ec.message()) +
                  "; use --auth with an identity that may read it");
}

// Whether a child keeps others from deleting the node.
asio::awaitable<bool> is_kept(client& zk, std::string path)
{
    const auto keep = co_await read_list(zk, child_of(path, ".keep"));
    co_return !keep.error;
}

// Whoever may write to the parent may delete a node without children, and make it anew.
asio::awaitable<void> look_at_parent(client& zk, std::string path, std::string root,
                                     std::string mended_by, findings& found)
{
    const auto by_force = command_for_root(found, path, true);
    const auto keep = child_of(path, ".keep");
    const auto kept = co_await read_list(zk, keep);
    if (!kept.error) {
        if (const auto* const e = open_entry(kept.list)) {
            found.add(severity::warning, "access",
                      name_of(*e) + " may " + words_for(e->permissions) + " at " + keep +
                          ": give it the list of " + path + words_on(by_force, path),
                      by_force);
        } else {
            found.good("access",
                       path + " is a root that stays: " + keep + " keeps others from deleting it");
        }
        co_return;
    }
    // A parent that is a container goes when the last node in it goes, so the lists further up count, too.
    for (auto node = path; node != "/"; node = parent_of(node)) {
        const auto parent = parent_of(node);
        if (node != path && co_await is_kept(zk, node)) {
            break;
        }
        const auto above = co_await read_list(zk, parent);
        if (above.error) {
            say_unread(parent, above.error, found);
            co_return;
        }
        if (const auto* const e = open_entry(above.list, permission_delete)) {
            found.add(severity::warning, "access",
                      name_of(*e) + " may delete in " + parent + ", so also " + node +
                          " while it is empty, and make it anew" + recipe(found, root),
                      mended_by);
            co_return;
        }
    }
    const auto parent = parent_of(path);
    const auto above = co_await read_list(zk, parent);
    found.good("access", "not everybody may delete in " + parent + ": " + all_of(above.list));
}

asio::awaitable<void> look_below(client& zk, std::string path, std::string root, findings& found)
{
    constexpr std::size_t most = 100;
    auto [ec, below] = co_await zk.async_children(path, no_throw);
    if (ec) {
        found.add(severity::unknown, "access",
                  "cannot list " + path + ": " + in_own_words(ec.message()));
        co_return;
    }
    if (path == "/") {
        std::erase(below.names, "zookeeper"); // the servers' own
    }
    const auto looked_at = std::min(most, below.names.size());
    std::size_t open = 0;
    std::size_t unread = 0;
    std::string first;
    for (std::size_t i = 0; i < looked_at; ++i) {
        const auto child = child_of(path, below.names[i]);
        const auto one = co_await read_list(zk, child);
        if (one.error && one.error != zookeeper_errc::no_node) {
            ++unread;
        } else if (const auto* const e = open_entry(one.list)) {
            if (open++ == 0) {
                first = name_of(*e) + " may " + words_for(e->permissions) + " at " + child;
            }
        }
    }
    const auto by_force = command_for_root(found, root, true);
    const auto of = " of " + std::to_string(looked_at) + " nodes in " + path;
    if (open > 0) {
        found.add(
            severity::warning, "access",
            std::to_string(open) + of + " have open lists, the first: " + first +
                "; use --auth and --acl creator where they are made, and the like in programs" +
                words_on(by_force, root),
            by_force);
    }
    if (looked_at < below.names.size()) {
        found.add(severity::unknown, "access",
                  "looked at the lists of " + std::to_string(looked_at) + " nodes in " + path +
                      ", and " + std::to_string(below.names.size() - looked_at) +
                      " more are there: name a PATH further down");
    }
    if (unread > 0) {
        found.add(severity::unknown, "access",
                  std::to_string(unread) + of + " have lists that we may not read");
    }
}

} // namespace

asio::awaitable<void> look_at_access(client& zk, std::string path, findings& found)
{
    const auto own = co_await read_list(zk, path);
    if (own.error == zookeeper_errc::no_node) {
        found.add(severity::unknown, "access",
                  "there is no node " + path +
                      " yet; whoever may create it decides who may use it" + recipe(found, {}));
        co_return;
    }
    if (own.error) {
        say_unread(path, own.error, found);
        co_return;
    }
    const auto root = co_await place_for_root(zk, path);
    const auto* const open = open_entry(own.list);
    const auto command = command_for_root(found, root, open != nullptr);
    if (open) {
        found.add(severity::warning, "access",
                  name_of(*open) + " may " + words_for(open->permissions) + " at " + path +
                      ", and so disturb its locks" + recipe(found, root) + words_on(command, root),
                  command);
    } else {
        found.good("access", "at " + path + ' ' + all_of(own.list));
    }
    if (path != "/") {
        co_await look_at_parent(zk, path, root, command, found);
    }
    co_await look_below(zk, path, root, found);
}

} // namespace colock::cli
