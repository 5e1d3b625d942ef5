// Which lock is wanted, and how it is acquired.
#pragma once

#include <colock/client.hpp>
#include <colock/lock_options.hpp>
#include <colock/queue_view.hpp>

#include "run/holding.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace colock::cli {

struct as_mutex {};
struct as_reader {}; // of a reader/writer lock
struct as_writer {};
struct as_permits {
    std::int64_t wanted = 1;
    std::int64_t all = 1;
};
struct as_candidate {}; // of an election

using lock_kind = std::variant<as_mutex, as_reader, as_writer, as_permits, as_candidate>;

struct lock_choice {
    std::string path;
    lock_kind kind;
    std::chrono::milliseconds safety_margin{0};
    std::string owner; // the data of the node: who we are
    // Of other locks, which are taken together with this one: all or none. Of mutexes, readers and writers.
    std::vector<std::string> more = {};
    std::optional<access_control_list> acl = {}; // of its nodes; else that of the client
};

// The same, one by one.
[[nodiscard]] std::vector<lock_choice> each_of(const lock_choice& all);

// For people: all paths, with blanks between.
[[nodiscard]] std::string paths_of(const lock_choice& lock);

// The list of the node above the lock, or of the first one further up that exists: a root, say. Throws failure when it cannot
// be read as a whole, or differs among several locks.
[[nodiscard]] boost::asio::awaitable<access_control_list> list_above(client& zk,
                                                                     const lock_choice& lock);

// How an acquisition has ended: with a lock, with an error, or with neither, because its time was over.
struct acquired {
    holding held;
    error_code error;
    std::string why; // the diagnostics
};

// Waits for the time that is given, for as long as it takes when none is, and not at all when it is zero. Cancellation:
// terminal.
boost::asio::awaitable<acquired> acquire(client& zk, const lock_choice& choice,
                                         std::optional<std::chrono::milliseconds> limit);

// The queue at its first path; of the nodes far behind only the names.
boost::asio::awaitable<queue_view> view(client& zk, const lock_choice& choice,
                                        view_options how = {.most_read = 64}); // one round trip

} // namespace colock::cli
