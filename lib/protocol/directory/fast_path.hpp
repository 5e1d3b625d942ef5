// The uncontended fast path saves a client that is alone the listing of its join. Skip this at first reading;
// settings::fast_path switches it off.
#pragma once

#include "answers.hpp"
#include "memory.hpp"
#include "protocol/command.hpp"

namespace colock::protocol {

// A client that takes a lock again and again, alone, need not list the queue to know that nobody else is there. It
// creates its node in a transaction that also writes to the directory; the answer tells how many children there are. To
// be allowed that, the client gets to know the directory while it holds the lock: it reads the data once, and writes
// colock's signature once.

// The command that creates the node by the fast path.
[[nodiscard]] command create_and_count(directory_memory& m, node_name prefix);

// The answer to a transaction that writes colock's signature. `ec` is that of the whole.
void signature_answered(directory_memory& m, const error_code& ec,
                        const directory_write& w) noexcept;

// The own node holds the lock, and has met nobody. What makes the fast path possible for the next contender is
// requested right away, because nobody can replace the directory while the own node is in it.
void prepare_fast_path(const directory_memory& m, const node_name& own_name, commands& out);

} // namespace colock::protocol
