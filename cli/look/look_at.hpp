// What stands at a path: which lock, who has it, who waits.
#pragma once

#include <colock/client.hpp>
#include <colock/queue_view.hpp>

#include "names/lock_kind.hpp"
#include "names/node_path.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace colock::cli {

// The nodes that a look at one path reads at most, of a semaphore twice that many; and all that it sends, lists included. A
// queue of 10,000 costs no more than one of ten.
inline constexpr std::size_t most_nodes_read = 16;
inline constexpr std::size_t most_nodes_read_later = 4;
inline constexpr std::size_t most_requests_a_path =
    2 * most_nodes_read + most_nodes_read_later + 12;

struct seen_lock {
    std::string path;
    bool exists = false;
    // The kind of its longest queue. None: nobody holds the path or waits there. It may be a lock that is free.
    seen_kind what = nullptr;
    std::string name;               // of a named lock
    std::vector<queue_kind> others; // other queues in the same directory
    queue_view queue;
    std::optional<std::int64_t> permits; // that a semaphore has, when its directory tells
    error_code unlisted;                 // why its children are not known
    std::string unlisted_path;
    std::vector<std::string> child_names;
    std::string data;
    // If the queue is empty: the list of the directory, or of the node above it that a contender would create it in; as far
    // as it could be read.
    access_control_list acl;
    std::string acl_path;

    // Of a group, and of the members of shards: how many there are. No locks, but made of such.
    std::optional<std::size_t> members;
    std::optional<std::size_t> shards; // how many
    std::size_t unowned = 0;           // of them; a look does not tell
    // Of a free lock: what the runs of a job have left beside it; a look does not tell.
    std::string job;

    // A group, or shards.
    [[nodiscard]] bool is_gathering() const { return members.has_value(); }
    // Nobody is there, but the directory looks like that of a lock: colock has made it, or it is empty.
    [[nodiscard]] bool may_be_free_lock() const;
    [[nodiscard]] bool is_lock() const { return what != nullptr; }
    [[nodiscard]] std::size_t waiting() const { return queue.waiters().size(); }
};

// Lets the server catch up with the leader, so that looks behind it show the newest state. Throws failure, also for a path that
// is malformed.
[[nodiscard]] boost::asio::awaitable<void> catch_up(client& zk, std::string path);

// Reads `most_read` nodes of each queue at most, those of the holders first. Waits while there is no connection. Throws
// boost::system::system_error for what is no answer about the path, such as a client that was closed; a path that does not
// exist and a missing permission are facts, not errors.
[[nodiscard]] boost::asio::awaitable<seen_lock> look_at(client& zk, std::string path,
                                                        std::size_t most_read = most_nodes_read);

// The same of a path that others have written. It may be none that a request can name: then nothing exists there, and
// `unlisted` is errc::invalid_path.
[[nodiscard]] boost::asio::awaitable<seen_lock>
look_at_path_of_others(client& zk, std::string path, std::size_t most_read = most_nodes_read);

// A look reads the first and the last node of a group. Whoever leaves out what is beside these asks for the others: two nodes
// of sessions among locks would hide the locks. It is no group then. If it is one, `child_names` become those that could not
// be read: each may be a lock.
// Reads the first `most_read` by name, some at a time.
[[nodiscard]] boost::asio::awaitable<void> confirm_group(client& zk, seen_lock& seen,
                                                         std::size_t most_read);

// The line of a group or of shards tells of them. What others have put beside them stays.
void leave_out_parts(seen_lock& gathering);

// Reads whole queues. Where several locks share the directory, `queue` is the one in which the node stands; `node` is a name or
// a path, and may be empty.
[[nodiscard]] boost::asio::awaitable<seen_lock> look_at_queue_of(client& zk, std::string path,
                                                                 std::string node);

// The entry with this name or path, also as it is printed; null when there is none.
[[nodiscard]] const queue_entry* find_entry(const seen_lock& seen, const std::string& node);

// That several queues share the directory, and what to do.
[[nodiscard]] std::string several_words(const seen_lock& seen);

// Reads an entry of its queue that was not read before.
[[nodiscard]] boost::asio::awaitable<void> read_later(client& zk, queue_entry& entry);

} // namespace colock::cli
