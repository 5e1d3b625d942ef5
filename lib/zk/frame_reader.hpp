// Looks at what a server has sent, before the C client reads it, and says what the C client may read.
#pragma once

#include "frame_guard.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace colock::zk {

class frame_reader {
public:
    using clock = std::chrono::steady_clock;

    enum class action {
        none,
        read,      // the C client reads one frame from the socket, or finds its end
        hand_over, // it reads `frame`, which was taken out of the socket
        refuse,    // it must not see what has come: `fault` says why
    };
    struct step {
        action next = action::none;
        bool more = false; // there may be more to read
        std::string frame = {};
        std::string fault = {}; // of the connection
    };

    // See frame_guard.
    frame_reader(std::int64_t session, std::size_t credentials) noexcept
        : guard_{session, credentials}
    {
    }

    // A request has been handed to the C client.
    void sent(const call& c);
    // So have credentials.
    void authenticates() noexcept { guard_.authenticates(); }

    // Takes at most a piece out of the socket, and never waits.
    [[nodiscard]] step read(int socket);

    [[nodiscard]] bool has_unread(int socket) const noexcept;
    // Requests without a reply; and since when: the last reply, or the first of them.
    [[nodiscard]] std::size_t outstanding() const noexcept { return guard_.outstanding(); }
    [[nodiscard]] clock::time_point unanswered_since() const noexcept { return unanswered_since_; }

private:
    [[nodiscard]] step look_ahead(int socket);
    [[nodiscard]] step take_out(int socket);
    [[nodiscard]] frame_guard::verdict check(std::string_view bytes);

    frame_guard guard_;
    std::size_t checked_ = 0; // frames in the socket that the C client may read
    std::string taken_out_;   // of a frame that was not whole in the socket
    clock::time_point unanswered_since_;
};

} // namespace colock::zk
