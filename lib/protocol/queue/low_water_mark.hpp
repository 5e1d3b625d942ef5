// The low-water mark spares long queues the listing of all contenders. It can be skipped at first reading.
#pragma once

#include "context.hpp"
#include "place.hpp"

#include <cstdint>

namespace colock::protocol::queue {

// A holder that leaves a long queue writes the mark into the directory, in the transaction that removes its node: no
// contender is left up to its sequence number. Its node was the lowest, numbers only grow, and a directory that is made
// anew has no mark; so the mark stays true. When a waiter's look-ahead goes before its next-in-line, the waiter cannot
// see whether there are others before them. It then reads the mark instead of listing all. Only a directory that is
// known to be colock's is written to.

// No queue with readers has a mark: the node of a holder need not be the lowest there, and a writer that steps down
// brings its number back.
[[nodiscard]] bool may_read_mark(const context& c, const place& me);
[[nodiscard]] bool may_write_mark(const context& c, const place& me);

// Whether a mark claims that a node is gone which is there, because its watch is set and silent.
[[nodiscard]] bool is_false(std::int64_t mark, const context& c, const watched_node& own,
                            const watched_node& next_in_line);

} // namespace colock::protocol::queue
