// The low-water mark spares long queues the listing of all contenders. It can be skipped at first reading.
#pragma once

#include "context.hpp"
#include "place.hpp"

#include <cstdint>

namespace colock::protocol::queue {

// A holder that leaves a long queue writes into the directory, in the transaction that removes its node: up to my
// number nobody is left. Its node was the lowest, numbers only grow, and a directory that is made anew has no mark; so
// the mark stays true. When a contender's look-ahead goes before its next-in-line, it cannot see whether there are
// others before them. It then reads the mark instead of listing all. Only a directory that is known to be colock's is
// written to.

// Where there are readers, the lowest node need not be alone, and numbers come back: there is no mark.
[[nodiscard]] bool may_read_mark(const context& c, const place& me);
[[nodiscard]] bool may_write_mark(const context& c, const place& me);

// Whether a mark claims that a node is gone which is there.
[[nodiscard]] bool is_false(std::int64_t mark, const context& c, const watched_node& own,
                            const watched_node& nearest);

} // namespace colock::protocol::queue
