// A watch on the directory, which tells when a contender joins or leaves.
#pragma once

#include "queue/remote_contention.hpp"

#include <cstdint>

namespace colock::protocol::queue {

// A client that hands the lock over in memory has no limit to keep as long as no remote contender waits. To know that,
// it lists the queue once more, and watches the directory from that listing on. A client whose nodes linger watches from
// the listing of its join on.
class newcomer_watch {
public:
    // Whether it is set, or asked for.
    explicit operator bool() const noexcept { return at_ != step::none; }

    void ask() noexcept { at_ = step::asked; }
    // The listing that sets it is answered. `alone`: it shows no other contender.
    void answered(bool set, bool alone) noexcept
    {
        at_ = !set ? step::none : alone ? step::alone : step::not_alone;
    }
    // The directory changed. Until the session ends the contender assumes a remote contender.
    void fired() noexcept
    {
        at_ = step::none;
        has_fired_ = true;
    }
    // It does not outlive a connection.
    void suspended() noexcept { at_ = step::none; }
    void expired() noexcept { *this = {}; }

    // `met_others`: what the last listing without a watch has shown.
    [[nodiscard]] remote_contention contention(bool met_others) const noexcept;

    friend bool operator==(const newcomer_watch&, const newcomer_watch&) = default;

private:
    enum class step : std::uint8_t { none, asked, alone, not_alone };

    step at_ = step::none;
    bool has_fired_ = false; // in this session
};

} // namespace colock::protocol::queue
