// Pauses before commands that repeat what was in vain. protocol/repetition.hpp says which these are.
#include "lock/driver/contender_driver_feed.hpp"

#include <utility>

namespace colock::detail {

// Returns whether there is one: the first repetition needs none.
bool contender_driver::begin_pause()
{
    using namespace std::chrono_literals;
    if (!pace_) {
        pace_ = std::make_unique<protocol::backoff>(1ms, 1s, zk::random_seed());
    }
    const auto pause = pace_->repeat(std::chrono::steady_clock::now().time_since_epoch());
    if (pause <= 0ns) {
        return false;
    }
    pause_ = std::make_shared<zk::timer>(core_.strand(), pause);
    pause_->async_wait([weak = weak_from_this(), timer = std::weak_ptr{pause_}](const error_code&) {
        const auto self = weak.lock();
        if (self && self->pause_ && self->pause_ == timer.lock()) {
            self->end_pause();
        }
    });
    return true;
}

// Its time is over; or it is of no use any more, because the connection is lost, or the contender leaves.
void contender_driver::end_pause()
{
    if (std::exchange(pause_, nullptr)) {
        paused_ = true;
        carry_out();
    }
}

} // namespace colock::detail
