// The effects of an input to a local_queue that are carried out when the mutex has been left.
#pragma once

#include "lock/local_queue.hpp"
#include "zk/recycled.hpp"

#include <boost/container/small_vector.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace colock::detail {

// The part of an outcome that the strand carries out.
struct local_queue::strand_work : recycled {
    struct departure {
        std::shared_ptr<contender_driver> driver;
        operation_ptr<error_code> unlocking; // completes when the driver has gone; or empty
    };
    boost::container::small_vector<departure, 1> leaving;

    // A waiter that was cancelled, and waits until no trace of it is left: it had a part in this contender, or the contender
    // that is to be made.
    operation_ptr<error_code, unique_lock> cancelled;
    std::shared_ptr<contender_driver> cancelled_with;

    // Operations wait for the loss of this turn, which has ended.
    std::shared_ptr<contender_driver> turn_over;
    std::uint64_t turn = 0;
};

// The changes of an input that are carried out after the mutex was left.
struct local_queue::outcome {
    waiters admitted;                           // tagged with their turns
    std::shared_ptr<contender_driver> holder;   // for them
    std::shared_ptr<client_core> core;          // for them; or empty
    bool reconcile = false;                     // the contenders with what the cohort wants
    std::unique_ptr<strand_work> on_the_strand; // as a rule there is none
    strand_work& strand()
    {
        if (!on_the_strand) {
            on_the_strand = std::make_unique<strand_work>();
        }
        return *on_the_strand;
    }

    // Where another thread may end the last user, and this object, as soon as the mutex has been left.
    std::shared_ptr<local_queue> self;

    path_report::of_input reported;

    // The time of the input: the clock is read once.
    std::chrono::nanoseconds time()
    {
        if (time_ == std::chrono::nanoseconds{0}) {
            time_ = boot_clock::now();
        }
        return time_;
    }

private:
    std::chrono::nanoseconds time_{0};
};

template <class Change>
void local_queue::input(Change&& change)
{
    outcome out;
    {
        const std::lock_guard lock{mutex_};
        change(out);
        // Where the driver is not kept that keeps this object.
        out.self =
            out.reported.any_ended() && !out.holder ? shared_from_this() : self_if_reporting();
    }
    carry_out(out);
}

template <class Change>
void local_queue::holder_input(const contender_driver& driver, Change&& change)
{
    input([&](outcome& out) {
        if (holder_.get() == &driver) {
            change(out);
        }
    });
}

} // namespace colock::detail
