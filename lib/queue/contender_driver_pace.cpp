// Pauses before commands that repeat what was in vain. queue/repetition.hpp says which these are.
#include "queue/contender_driver_feed.hpp"

#include <utility>

namespace colock::detail {

// Returns whether there is one: the first repetition needs none.
bool contender_driver::begin_pause(protocol::repetition::cause why)
{
    if (!pace_) {
        pace_ = std::make_unique<protocol::pacer>(zk::random_seed());
    }
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const auto pause =
        why == protocol::repetition::cause::event ? pace_->fired(now) : pace_->refused(now);
    if (pause <= pause.zero()) {
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
