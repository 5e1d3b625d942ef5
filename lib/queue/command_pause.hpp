// The pauses before commands that repeat what was in vain. repetition.hpp says which these are.
#pragma once

#include "queue/repetition.hpp"
#include "session/pacer.hpp"
#include "zk/entropy.hpp"
#include "zk/strand.hpp"

#include <chrono>
#include <memory>
#include <utility>

namespace colock::detail {

// One pause at a time. On the strand.
class command_pause {
public:
    // Returns whether there is one: the first repetition needs none. `over` is called when its time is over, unless it ends
    // before.
    template <class Over>
    [[nodiscard]] bool begin(const zk::strand_type& strand, protocol::repetition::cause why,
                             Over over)
    {
        if (!pacer_) {
            pacer_ = std::make_unique<protocol::pacer>(zk::random_seed());
        }
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        const auto pause =
            why == protocol::repetition::cause::event ? pacer_->fired(now) : pacer_->refused(now);
        if (pause <= pause.zero()) {
            return false;
        }
        timer_ = std::make_shared<zk::timer>(strand, pause);
        timer_->async_wait([mine = std::weak_ptr{timer_}, over](const error_code&) {
            if (const auto timer = mine.lock()) {
                over();
            }
        });
        return true;
    }
    // Its time is over, or it is of no use any more. Returns whether there was one.
    bool end() noexcept { return std::exchange(timer_, nullptr) != nullptr; }
    [[nodiscard]] bool runs() const noexcept { return timer_ != nullptr; }

    // The next pause is the first again.
    void progressed() noexcept
    {
        if (pacer_) {
            pacer_->progressed();
        }
    }

private:
    std::unique_ptr<protocol::pacer> pacer_; // since the first repetition
    std::shared_ptr<zk::timer> timer_;       // while it runs; nobody else keeps it
};

} // namespace colock::detail
