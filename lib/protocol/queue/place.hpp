// The own node in the queue, and what listings have shown around it.
#pragma once

#include "context.hpp"
#include "watched_node.hpp"

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace colock::protocol::queue {

struct place {
    // Whether a directory may be written to, and deleted.
    enum class directory : std::uint8_t {
        unknown,
        ours,    // colock has made it
        to_stay, // somebody else has
    };

    std::string name;
    std::int64_t number = -1; // negative when the server's 32-bit counter has overflowed
    std::optional<node_identity> identity; // not known of a node that was found again
    watched_node watch;                    // on the own node

    directory is_whose = directory::unknown;
    bool disposable = false; // the directory is ours, and nothing but the queue is in it
    bool met_others = false; // in the queue when it was last listed, before or behind
    bool long_queue = false; // likewise

    place(const context& c, std::string own_name);

    // Newcomers with such a number do not wait in the queue, so that it drains (drain.hpp).
    [[nodiscard]] bool is_late(const context& c) const noexcept;
    // Newcomers drain behind this node, so there may be more contenders than can be seen.
    [[nodiscard]] bool drains(const context& c) const noexcept { return disposable && is_late(c); }

    friend bool operator==(const place&, const place&) = default;
    friend std::ostream& operator<<(std::ostream& text, const place& p);
};

} // namespace colock::protocol::queue
