// The low-water mark saves the waiters of long queues the listing of all contenders. Skip this at first reading;
// settings::mark_queues_from switches it off.
#pragma once

#include "context.hpp"
#include "place.hpp"

#include <cstdint>
#include <optional>

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

// The question of one waiter: is my next-in-line the only contender before me?
class mark_query {
public:
    // Whether the answer is to come.
    explicit operator bool() const noexcept { return departed_.has_value(); }

    // The look-ahead with this sequence number has gone.
    void ask(std::int64_t departed, commands& out);
    void forget() noexcept { departed_.reset(); }

    enum class answer { none, only_next_in_line, list };
    // The directory's data were read, for this question or for another reason. A mark that cannot be true is reported,
    // and the contender trusts none any more.
    [[nodiscard]] answer answered(context& c, const place& me, const watched_node& next_in_line,
                                  const error_code& ec, std::int64_t mark, commands& out);

    friend bool operator==(const mark_query&, const mark_query&) = default;

private:
    std::optional<std::int64_t> departed_;
};

} // namespace colock::protocol::queue
