#include "look/inquiry.hpp"

#include "look/words.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace colock::cli {

namespace {

namespace asio = boost::asio;

void add_path(std::vector<std::string>& to, const std::vector<seen_lock>& known,
              const std::string& path)
{
    if (std::ranges::find(known, path, &seen_lock::path) == known.end() &&
        std::ranges::find(to, path) == to.end()) {
        to.push_back(path);
    }
}

// Where contenders of the known locks have other nodes, as far as the data and the servers tell.
std::vector<std::string> related_paths(const std::vector<seen_lock>& locks,
                                       const session_facts& facts)
{
    std::vector<std::string> found;
    for (const auto& lock : locks) {
        for (const auto& e : lock.queue.entries) {
            if (e.unread || e.unreadable) {
                continue;
            }
            if (const auto under = e.owner().under) {
                add_path(found, locks, lock_of_node(*under));
            }
            const auto nodes = facts.nodes.find(e.session);
            if (!e.holds || nodes == facts.nodes.end()) {
                continue;
            }
            for (const auto& node : nodes->second) {
                if (node != e.path &&
                    (kind_of(last_name(node)) || lock_of_node(node) != parent_of(node))) {
                    add_path(found, locks, lock_of_node(node));
                }
            }
        }
    }
    return found;
}

std::set<std::int64_t> sessions_of(const std::vector<seen_lock>& locks)
{
    std::set<std::int64_t> all;
    for (const auto& lock : locks) {
        for (const auto& e : lock.queue.entries) {
            if (!e.unread && !e.unreadable && has_session(e)) {
                all.insert(e.session);
            }
        }
    }
    return all;
}

// A holder may wait far behind in the queue of another lock: the servers tell which node is its own.
asio::awaitable<void> read_nodes_of_holders(client& zk, std::vector<seen_lock>& locks,
                                            const session_facts& facts)
{
    std::set<std::string> nodes;
    for (const auto& lock : locks) {
        for (const auto& e : lock.queue.holders()) {
            if (const auto own = facts.nodes.find(e.session); own != facts.nodes.end()) {
                nodes.insert(own->second.begin(), own->second.end());
            }
        }
    }
    for (auto& lock : locks) {
        std::size_t left = most_nodes_read_later;
        for (auto& e : lock.queue.entries) {
            if (left != 0 && e.unread && nodes.contains(e.path)) {
                --left;
                co_await read_later(zk, e);
            }
        }
    }
}

} // namespace

asio::awaitable<inquiry> inquire(client& zk, const client_options& options,
                                 const inquiry_options& what)
{
    inquiry all;
    const auto before = zk.stats().requests;
    // The newest state, not what this server happens to know.
    const auto [ec] =
        co_await zk.async_sync(what.paths.front(), asio::as_tuple(asio::use_awaitable));
    if (ec) {
        throw boost::system::system_error{ec};
    }
    for (const auto& path : what.paths) {
        all.locks.push_back(co_await look_at(zk, path));
    }
    all.asked_for = all.locks.size();

    session_questions how;
    how.options = options;
    how.admin_port = what.admin_port;
    const auto sessions = sessions_of(all.locks);
    if (!sessions.empty()) {
        all.facts = co_await ask_sessions(zk, how, sessions);
    }
    for (std::size_t followed = 0; followed != most_followed;) {
        const auto more = related_paths(all.locks, all.facts);
        if (more.empty()) {
            break;
        }
        for (std::size_t i = 0; i != more.size() && followed != most_followed; ++i, ++followed) {
            auto next = co_await look_at(zk, more[i]);
            all.locks.push_back(std::move(next));
        }
    }
    co_await read_nodes_of_holders(zk, all.locks, all.facts);
    all.reads = zk.stats().requests - before;

    expectations expect;
    expect.options = &options;
    expect.expected = what.expected;
    all.found = find_culprit({all.locks.data(), all.asked_for}, all.locks, all.facts, expect);
    co_return all;
}

} // namespace colock::cli
