// The own node in the queue, and what listings have shown around it.
#pragma once

#include "context.hpp"
#include "protocol/queue/blocking_rule.hpp"
#include "watched_node.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace colock::protocol::queue {

struct place {
    // Whether a directory may be written to, and deleted.
    enum class directory : std::uint8_t {
        unknown,
        ours,    // colock has made it: its data begin with colock's signature
        to_stay, // it has other data, or they cannot be read
    };

    node_name name;
    // The sequence number; negative when the server's 32-bit counter has overflowed.
    std::int64_t number = -1;
    // Empty for a node found by listing, until its watched read is answered.
    std::optional<node_identity> identity;
    watched_node watch; // on the own node

    // Learned from the directory's data, and from the last listing that was evaluated.
    directory directory_is = directory::unknown;
    bool disposable = false;   // drain: the directory is ours, and nothing but the queue is in it
    bool met_others = false;   // other contenders were in the queue, before this one or behind it
    bool met_siblings = false; // the directory had another child
    bool long_queue = false;   // low-water mark: so many contenders that it is worth using

    // Fast path: the directory had another child when the node was created. That child may have gone since.
    bool counted_siblings = false;

    place(const context& c, node_name own_name);

    // From a listing, and the queue that it shows.
    void update(const context& c, const listing& l, const std::vector<entry>& queue);
    // Why the lock cannot be had by this node; no error when nothing is in the way but predecessors.
    [[nodiscard]] error_code obstacle(const context& c, const listing& l,
                                      const std::vector<entry>& queue) const;

    // The own node among those of a listing; their end when it has gone.
    [[nodiscard]] std::vector<entry>::const_iterator find_in(const std::vector<entry>& queue) const;

    // The sequence numbers are nearly used up (draining.hpp).
    [[nodiscard]] bool is_late() const noexcept;
    // Drain: newcomers drain behind this node. There may be more contenders than the queue shows.
    [[nodiscard]] bool newcomers_drain(const context& c) const noexcept
    {
        return c.options.drains_at_end && disposable && is_late();
    }

    friend bool operator==(const place&, const place&) = default;
};

} // namespace colock::protocol::queue
