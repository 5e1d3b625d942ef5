#include "look/diagnosis.hpp"

#include "connect/awaiting.hpp"
#include "look/spread.hpp"
#include "look/words.hpp"
#include "names/job_record.hpp"

#include <algorithm>
#include <chrono>
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

// A holder that lets go and ends, or whose client is just connecting again, looks dead for a moment.
constexpr std::chrono::milliseconds before_second_look{100};

bool a_holder_seems_dead(const diagnosis& all)
{
    return std::ranges::any_of(all.locks, [&](const seen_lock& lock) {
        return std::ranges::any_of(lock.queue.holders(), [&](const queue_entry& e) {
            return examine(e, all.facts).state == health::dead;
        });
    });
}

// Also at the locks of some shards that are not at rest: whoever holds one may be the culprit.
asio::awaitable<void> look_at_shards(client& zk, std::string path, std::vector<seen_lock>& locks)
{
    const auto all = co_await look_at_spread(zk, path);
    locks.back().unowned = all.shards.size() - all.owned;
    constexpr std::size_t most = 4;
    std::vector<std::string> at;
    for (const auto& each : all.shards) {
        if (each.owner && (moves(each) || !is_member(all, *each.owner)) && at.size() != most) {
            at.push_back(child_of(child_of(path, "locks"), each.shard.name));
        }
    }
    for (const auto& lock : at) {
        auto next = co_await look_at(zk, lock);
        locks.push_back(std::move(next));
    }
}

asio::awaitable<void> look_at_all(client& zk, const std::vector<std::string>& paths,
                                  const session_questions& how, diagnosis& into)
{
    into.locks.clear();
    for (const auto& path : paths) {
        auto seen = co_await look_at(zk, path);
        const bool has_shards = seen.shards.has_value();
        if (!seen.is_lock() && !seen.is_gathering()) {
            const auto [ec, beside] = co_await zk.async_get(job_record_of(path), no_throw);
            seen.job = !ec && is_job_record(beside.data) ? beside.data : "";
        }
        into.locks.push_back(std::move(seen));
        if (has_shards) {
            co_await look_at_shards(zk, path, into.locks);
        }
    }
    const auto sessions = sessions_of(into.locks);
    const auto asked = into.facts.questions;
    into.facts = {};
    if (!sessions.empty()) {
        into.facts = co_await ask_sessions(zk, how, sessions);
    }
    into.facts.questions += asked;
}

// Looks at the locks that those seen so far have to do with, and so on.
asio::awaitable<void> follow(client& zk, diagnosis& all)
{
    std::set<std::string> visited;
    for (std::size_t looks = 0; looks != most_followed;) {
        auto more = related_paths(all.locks, all.facts);
        std::erase_if(more, [&](const std::string& path) { return visited.contains(path); });
        if (more.empty()) {
            break;
        }
        for (std::size_t i = 0; i != more.size() && looks != most_followed; ++i, ++looks) {
            visited.insert(more[i]);
            // Waiters of a semaphore stand in `locks` below it.
            auto path = last_name(more[i]) == "locks" ? parent_of(more[i]) : more[i];
            auto next = co_await look_at_path_of_others(zk, path);
            const bool is_semaphore = next.what == &kinds::semaphore;
            if (path != more[i] && !is_semaphore && looks + 1 != most_followed) {
                ++looks;
                path = more[i];
                next = co_await look_at_path_of_others(zk, path);
            }
            if (std::ranges::find(all.locks, path, &seen_lock::path) == all.locks.end()) {
                all.locks.push_back(std::move(next));
            }
        }
    }
}

} // namespace

asio::awaitable<diagnosis> diagnose(client& zk, const client_options& options,
                                    const diagnosis_options& what)
{
    diagnosis all;
    const auto before = zk.stats().requests;
    co_await catch_up(zk, what.paths.front());
    session_questions how;
    how.options = options;
    how.admin_port = what.admin_port;
    co_await look_at_all(zk, what.paths, how, all);
    if (a_holder_seems_dead(all)) {
        co_await pause(before_second_look);
        co_await look_at_all(zk, what.paths, how, all);
    }
    all.asked_for = all.locks.size();
    co_await follow(zk, all);
    co_await read_nodes_of_holders(zk, all.locks, all.facts);
    all.reads = zk.stats().requests - before;

    expectations expect;
    expect.options = &options;
    expect.expected = what.expected;
    all.found = find_culprit({all.locks.data(), all.asked_for}, all.locks, all.facts, expect);
    co_return all;
}

} // namespace colock::cli
