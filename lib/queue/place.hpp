// The own node in the queue, and what listings have shown around it.
#pragma once

#include "queue/context.hpp"
#include "queue/watched_node.hpp"

#include <cstdint>
#include <optional>

namespace colock::protocol::queue {

struct place {
    node_name name;
    // The sequence number; negative when the server's 32-bit counter has overflowed.
    std::int64_t number = -1;
    // Empty for a node found by listing, until its watched read is answered.
    std::optional<node_identity> identity;
    watched_node watch; // on the own node

    bool met_others = false; // the last listing showed other contenders
    // Of a late one: nothing is lost when somebody makes another directory. Unknown until it was read.
    std::optional<bool> directory_replaceable;

    place(const context& c, node_name own_name);

    // Watches do not outlive a connection. What is known of the directory may have changed after it.
    void suspended() noexcept
    {
        watch.forget();
        directory_replaceable.reset();
    }

    // Why the lock cannot be had by this node; no error when nothing is in the way but predecessors.
    [[nodiscard]] error_code obstacle(const context& c, const listing& l,
                                      const entries& queue) const;

    // The own node among those of a listing; their end when it has gone.
    [[nodiscard]] entries::const_iterator find_in(const entries& queue) const;

    // The sequence numbers are nearly used up. There may be more contenders than the queue shows: newcomers make way.
    [[nodiscard]] bool is_late() const noexcept;

    friend bool operator==(const place&, const place&) = default;
};

} // namespace colock::protocol::queue
