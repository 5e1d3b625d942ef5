#include "look/look_at.hpp"

#include <colock/diagnostics.hpp>
#include <colock/log.hpp>

#include "connect/awaiting.hpp"
#include "connect/run_all.hpp"
#include "lib/names/node_owner.hpp"
#include "names/job_record.hpp"
#include "program/failure.hpp"
#include "program/text.hpp"

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace colock::cli {

namespace {

namespace asio = boost::asio;

void require_fact(const error_code& ec)
{
    if (ec && ec != zookeeper_errc::no_node && ec != zookeeper_errc::no_auth) {
        throw boost::system::system_error{ec};
    }
}

// The node itself is the lock, and who made it has the lock.
queue_entry entry_of_node(const std::string& path, const get_result& found)
{
    queue_entry e;
    e.name = last_name(path);
    e.path = path;
    e.holds = true;
    e.data = found.data;
    e.czxid = found.stat.czxid;
    e.session = found.stat.ephemeral_owner;
    e.since = std::chrono::system_clock::time_point{std::chrono::milliseconds{found.stat.ctime}};
    return e;
}

asio::awaitable<queue_view> view(client& zk, std::string path, layout names, std::size_t most_read,
                                 seen_lock& into)
{
    const view_options bounded{.most_read = most_read};
    auto [ec, found] = co_await async_view_queue(zk, path, names, bounded, no_throw);
    require_fact(ec);
    if (ec == zookeeper_errc::no_auth) {
        into.unlisted = ec;
        into.unlisted_path = path;
    }
    co_return std::move(found);
}

asio::awaitable<void> look_at_permits(client& zk, seen_lock& seen, std::size_t most_read)
{
    // Waiters first: who is granted a permit meanwhile is among both.
    auto waiting =
        co_await view(zk, child_of(seen.path, "locks"), curator_layout(), most_read, seen);
    auto held = co_await view(zk, child_of(seen.path, "leases"), lease_layout(), most_read, seen);
    for (auto& each : held.entries) {
        each.holds = true;
    }
    for (auto& each : waiting.entries) {
        each.holds = false;
    }
    std::ranges::move(waiting.entries, std::back_inserter(held.entries));
    seen.queue = std::move(held);
    const auto [ec, leases] = co_await zk.async_get(child_of(seen.path, "leases"), no_throw);
    require_fact(ec);
    constexpr std::string_view key = "permits=";
    if (leases.data.starts_with(key)) {
        seen.permits = number_in<std::int64_t>(leases.data.substr(key.size()));
    }
}

// Of the path, or the nearest node above it that exists.
asio::awaitable<void> look_at_list(client& zk, seen_lock& seen)
{
    constexpr int highest = 8;
    auto path = seen.path;
    for (int i = 0; i != highest; ++i) {
        const auto [ec, list] = co_await zk.async_get_acl(path, no_throw);
        require_fact(ec);
        if (ec != zookeeper_errc::no_node) {
            seen.acl = list.acl;
            seen.acl_path = path;
            co_return;
        }
        path = parent_of(path);
    }
}

// How many shards a definition says that there are, which anybody may have written; none when it is none.
std::optional<std::size_t> shards_in(std::string_view definition)
{
    constexpr std::string_view named = "shards:\n";
    if (definition.starts_with(named)) {
        return static_cast<std::size_t>(std::ranges::count(definition, '\n'));
    }
    const auto number = definition.substr(0, definition.find(' '));
    return definition.substr(number.size()) == " shards" ? number_in<std::size_t>(number)
                                                         : std::nullopt;
}

// A session's own node, which does not say whose process it is, as that of a lock would.
// Nothing: it is gone, or cannot be read, and may be the lock of a single node as well.
asio::awaitable<std::optional<bool>> may_be_member(client& zk, std::string path)
{
    const auto [ec, node] = co_await zk.async_get(path, no_throw);
    if (ec == errc::invalid_path) {
        co_return false; // others have made it, and no request can name it
    }
    require_fact(ec);
    if (ec) {
        co_return std::nullopt;
    }
    co_return colock::detail::is_of_session(node.stat.ephemeral_owner) &&
        !parse_owner(node.data).host;
}

asio::awaitable<void> ask_for_member(client& zk, std::string path, std::optional<bool>& answer)
{
    answer = co_await may_be_member(zk, std::move(path));
}

bool has_definition(const seen_lock& seen)
{
    return std::ranges::find(seen.child_names, "definition") != seen.child_names.end();
}

// Of a directory without a queue.
asio::awaitable<void> look_for_gathering(client& zk, seen_lock& seen)
{
    const auto& names = seen.child_names;
    if (has_definition(seen)) {
        const auto [ec, node] = co_await zk.async_get(child_of(seen.path, "definition"), no_throw);
        require_fact(ec);
        seen.shards = shards_in(node.data);
        if (seen.shards) {
            const auto members = child_of(seen.path, "members");
            const auto [none, all] = co_await zk.async_children(members, no_throw);
            require_fact(none);
            seen.members = all.names.size();
            if (none == zookeeper_errc::no_auth) {
                seen.unlisted = none;
                seen.unlisted_path = members;
            }
        }
    } else if (!names.empty()) {
        const auto [first, last] = std::ranges::minmax(names);
        const auto one = co_await may_be_member(zk, child_of(seen.path, first));
        auto other = one;
        if (first != last) {
            other = co_await may_be_member(zk, child_of(seen.path, last));
        }
        if ((one || other) && one.value_or(true) && other.value_or(true)) {
            seen.members = names.size();
        }
    }
}

// A semaphore that nobody uses leaves its directories for some minutes, and hides no shards at the same path meanwhile.
asio::awaitable<void> look_for_shards(client& zk, seen_lock& seen)
{
    co_await look_for_gathering(zk, seen);
    if (seen.shards) {
        seen.what = nullptr;
        seen.permits.reset();
        std::erase(seen.child_names, kinds::semaphore.child);
    }
}

} // namespace

bool seen_lock::may_be_free_lock() const
{
    return exists && !is_lock() && !unlisted && child_names.empty() && !is_job_record(data);
}

asio::awaitable<void> catch_up(client& zk, std::string path)
{
    diagnostics why;
    const auto [ec] = co_await zk.async_sync(path, bind_diagnostics(why, no_throw));
    if (ec) {
        throw failure_of(ec, why.message());
    }
}

asio::awaitable<seen_lock> look_at(client& zk, std::string path, std::size_t most_read)
{
    seen_lock seen;
    seen.path = path;
    const auto [get_ec, node] = co_await zk.async_get(path, no_throw);
    require_fact(get_ec);
    if (get_ec == zookeeper_errc::no_node) {
        co_await look_at_list(zk, seen);
        co_return seen;
    }
    seen.exists = true;
    seen.data = node.data;
    if (!get_ec && colock::detail::is_of_session(node.stat.ephemeral_owner)) {
        seen.what = &kinds::single_node_mutex;
        seen.queue.entries.push_back(entry_of_node(path, node));
        co_return seen;
    }
    auto [list_ec, listed] = co_await zk.async_children(path, no_throw);
    require_fact(list_ec);
    if (list_ec == zookeeper_errc::no_node) {
        seen.exists = false;
        co_return seen;
    }
    if (list_ec) {
        seen.unlisted = list_ec;
        seen.unlisted_path = path;
        co_return seen;
    }
    seen.others = kinds_among(listed.names);
    seen.child_names = std::move(listed.names);
    if (!seen.others.empty()) {
        const auto main = seen.others.front();
        seen.others.erase(seen.others.begin());
        seen.what = main.what;
        if (main.what == &kinds::named) {
            constexpr std::string_view around = "-_lock_"; // the name
            seen.name = main.names.marker.substr(1, main.names.marker.size() - around.size());
        }
        if (seen.what == &kinds::semaphore) {
            co_await look_at_permits(zk, seen, most_read);
            if (seen.queue.entries.empty() && !seen.unlisted && has_definition(seen)) {
                co_await look_for_shards(zk, seen);
            }
        } else {
            seen.queue = co_await view(zk, path, main.names, most_read, seen);
        }
    } else {
        co_await look_for_gathering(zk, seen);
    }
    if (seen.queue.entries.empty() && !seen.unlisted && !seen.is_gathering()) {
        co_await look_at_list(zk, seen);
    }
    co_return seen;
}

asio::awaitable<seen_lock> look_at_path_of_others(client& zk, std::string path,
                                                  std::size_t most_read)
{
    try {
        co_return co_await look_at(zk, path, most_read);
    } catch (const boost::system::system_error& e) {
        if (e.code() != errc::invalid_path) {
            throw;
        }
    }
    seen_lock nothing;
    nothing.path = path;
    nothing.unlisted = errc::invalid_path;
    nothing.unlisted_path = path;
    co_return nothing;
}

asio::awaitable<void> confirm_group(client& zk, seen_lock& seen, std::size_t most_read)
{
    if (!seen.is_gathering() || seen.shards) {
        co_return;
    }
    constexpr std::size_t most_at_once = 64;
    std::vector<std::string> unknown;
    std::ranges::sort(seen.child_names); // those that are read are the same at each look
    const std::span<const std::string> names{seen.child_names};
    const auto number = std::min(names.size(), most_read);
    for (std::size_t i = 0; i < number; i += most_at_once) {
        const auto some = names.subspan(i, std::min(number - i, most_at_once));
        std::vector<std::optional<bool>> answers(some.size());
        std::vector<asio::awaitable<void>> questions;
        for (std::size_t at = 0; at != some.size(); ++at) {
            questions.push_back(ask_for_member(zk, child_of(seen.path, some[at]), answers[at]));
        }
        co_await run_all(std::move(questions));
        for (std::size_t at = 0; at != some.size(); ++at) {
            if (!answers[at].value_or(true)) {
                seen.members.reset();
                co_return;
            }
            if (!answers[at]) {
                unknown.push_back(some[at]);
            }
        }
    }
    seen.child_names = std::move(unknown);
}

void leave_out_parts(seen_lock& gathering)
{
    if (!gathering.shards) {
        return; // confirm_group() has left out the members
    }
    static constexpr std::array<std::string_view, 6> of_shards{"members",    "leader",     "use",
                                                               "definition", "assignment", "locks"};
    std::erase_if(gathering.child_names, [](const std::string& name) {
        return std::ranges::find(of_shards, name) != of_shards.end();
    });
}

asio::awaitable<seen_lock> look_at_queue_of(client& zk, std::string path, std::string node)
{
    constexpr auto everything = std::numeric_limits<std::size_t>::max();
    auto seen = co_await look_at(zk, path, everything);
    const auto own = kind_of(last_name(node));
    const bool is_elsewhere = own && std::ranges::any_of(seen.others, [&](const queue_kind& k) {
                                  return k.what == own->what && k.names.marker == own->names.marker;
                              });
    if (is_elsewhere) {
        seen.what = own->what;
        seen.queue = co_await view(zk, path, own->names, everything, seen);
    }
    co_return seen;
}

const queue_entry* find_entry(const seen_lock& seen, const std::string& node)
{
    const auto& all = seen.queue.entries;
    const auto at = std::ranges::find_if(all, [&](const queue_entry& e) {
        return e.name == node || e.path == node || printable(e.name) == node ||
               printable(e.path) == node; // as `ls` and `why` write it
    });
    return at == all.end() ? nullptr : &*at;
}

std::string several_words(const seen_lock& seen)
{
    const auto& other = seen.others.front();
    return printable(seen.path) + " is used by several locks: beside " +
           with_article(words_for(seen.what)) + " there are nodes of " +
           with_article(words_for(other.what)) + ", such as " + printable(other.example) +
           "; say which holder is meant by --node";
}

asio::awaitable<void> read_later(client& zk, queue_entry& entry)
{
    const auto [ec, found] = co_await zk.async_get(entry.path, no_throw);
    require_fact(ec);
    entry.unread = false;
    entry.unreadable = ec;
    entry.data = found.data;
    entry.czxid = found.stat.czxid;
    entry.session = found.stat.ephemeral_owner;
    entry.since =
        std::chrono::system_clock::time_point{std::chrono::milliseconds{found.stat.ctime}};
}

} // namespace colock::cli
