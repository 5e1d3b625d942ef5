// What keeps locks from going on: one cause, and where it is.
#pragma once

#include "look/deadlock.hpp"
#include "look/local_process.hpp"
#include "look/session_facts.hpp"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colock::cli {

// The gravest first. docs and --help name them; scripts read their words.
enum class cause {
    deadlock,        // holders wait for each other in a circle
    another_kind,    // nodes of different kinds of lock, which do not exclude each other
    persistent_node, // a node without a session, which nobody but a user deletes
    permission,      // an access control list keeps a contender from seeing or creating a node
    dead_holder,     // its process is gone, or no server has a connection of its session
    stopped_holder,  // its process on this host is stopped
    silent_holder,   // its session is connected, but the servers do not hear from it
    unowned,         // shards have no owner
    long_queue,      // the holder works, and many wait
    held,            // the holder works, or nothing is known that it does not
    free,            // nobody has it, or the path does not exist
    no_lock,         // the path has nodes, and none of them is a lock's
};

struct cause_text {
    cause what;
    std::string_view word;
    std::string_view words;
};
[[nodiscard]] const std::array<cause_text, 12>& all_causes();
[[nodiscard]] std::string_view word_for(cause c);

// So many waiters behind a holder that works are a long queue.
inline constexpr std::size_t long_queue_from = 10;
// A client speaks to its server about three times within its time-out. One that was not heard for more than this part of it
// is silent.
inline constexpr double silent_part = 0.5;

enum class health { alive, unknown, silent, stopped, dead, by_hand, unreadable };

// What is known of a contender.
struct condition_of {
    health state = health::unknown;
    process_fact process;
    const session_connection* connection = nullptr;
    std::string words; // "connected to a:2181 from b:4711, heard 0.3 s ago", and of its process
};
[[nodiscard]] condition_of examine(const queue_entry& e, const session_facts& facts);

struct culprit {
    cause what = cause::no_lock;
    std::string path;
    std::string node; // empty when it is no single node
    std::string text; // one line: who or what it is, why, and what to do
};

// Whose identities the client has, and what kind of lock the user expects.
struct expectations {
    const client_options* options = nullptr;
    std::optional<seen_kind> expected;
};

// The gravest cause among the locks that were asked for, or a circle among all that were seen.
[[nodiscard]] culprit find_culprit(std::span<const seen_lock> asked_for,
                                   const std::vector<seen_lock>& all, const session_facts& facts,
                                   const expectations& expect);

} // namespace colock::cli
