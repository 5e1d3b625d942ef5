// Looks at what a server has sent, before the C client reads it, and says what the C client may read.
#pragma once

#include "zk/frame_guard.hpp"
#include "zk/wire.hpp"

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
        read,      // the C client reads one frame from its descriptor, or finds the end there
        hand_over, // it is given `frame`, which was received
        refuse,    // it must not see what has come: `fault` says why
    };
    struct step {
        action next = action::none;
        bool more = false; // there may be more to read
        std::string frame = {};
        std::string fault = {}; // of the connection
    };

    // See frame_guard.
    frame_reader(std::int64_t session, std::size_t credentials, const std::string& chroot)
        : guard_{session, credentials, chroot}
    {
    }

    // A request has been handed to the C client.
    void sent(const call& c);
    // So have credentials.
    void authenticates() noexcept { guard_.authenticates(); }

    // Receives at most a piece, and never waits.
    [[nodiscard]] step read(wire& from);
    // Of a frame that was answered for: so many bytes are still to come.
    [[nodiscard]] std::size_t to_skip() const noexcept { return to_skip_; }

    [[nodiscard]] bool has_unread(const wire& from) const noexcept
    {
        return checked_ != 0 || from.has_unread();
    }
    // Requests without a reply; and since when: the last reply, or the first of them.
    [[nodiscard]] std::size_t outstanding() const noexcept { return guard_.outstanding(); }
    [[nodiscard]] clock::time_point unanswered_since() const noexcept { return unanswered_since_; }
    // Of the last reply; 0 while the C client has not read it.
    [[nodiscard]] std::int32_t last_number() const noexcept
    {
        return checked_ == 0 ? guard_.last_number() : 0;
    }

private:
    [[nodiscard]] step look_ahead(wire& from);
    [[nodiscard]] step take_out(wire& from);
    [[nodiscard]] step skip(wire& from);
    [[nodiscard]] static step end_of(wire& from, bool within_frame);
    [[nodiscard]] frame_guard::verdict check(std::string_view bytes);

    frame_guard guard_;
    std::size_t checked_ = 0; // frames at the C client's descriptor that it may read
    std::string taken_out_;   // the beginning of a frame
    std::size_t to_skip_ = 0; // of a frame that was answered for
    clock::time_point unanswered_since_;
};

} // namespace colock::zk
