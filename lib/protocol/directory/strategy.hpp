// The uncontended fast path. It can be skipped at first reading, and switched off by settings::fast_path.
#pragma once

#include "memory.hpp"
#include "protocol/command.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace colock::protocol {

// A client that takes a lock again and again, alone, need not list the queue to know that nobody else is there. It
// creates its node in a transaction that also writes to the directory; the answer tells how many children there are. To
// be allowed that, the client gets to know the directory while it holds the lock: it reads the data once, and writes
// colock's mark once.

// Metadata of the directory, as an answer tells them.
struct directory_state {
    std::int64_t czxid = 0; // the transaction that created it
    std::int32_t version = 0;
    std::int32_t children = 0;

    friend bool operator==(const directory_state&, const directory_state&) = default;
};

// What came of the step of a transaction that writes to the directory.
struct directory_write {
    error_code error = {};
    directory_state now = {}; // without an error
};

// The command that creates the node by the fast path.
[[nodiscard]] command create_and_count(directory_memory& m, std::string prefix);

// The answer to a transaction that writes colock's mark. `ec` is that of the whole.
void mark_answered(directory_memory& m, const error_code& ec, const directory_write& w) noexcept;

// The own node holds the lock, and has met nobody. What makes the fast path possible for the next contender is
// requested right away, because nobody can replace the directory while the own node is in it.
void prepare_fast_path(const directory_memory& m, const std::string& own_name, commands& out);

// The directory and its ancestors were to be created one by one, the outermost first. What it comes to: no error when the
// directory is there, or creating them again may help.
[[nodiscard]] error_code outcome_of_making(std::span<const error_code> of_each) noexcept;

} // namespace colock::protocol
