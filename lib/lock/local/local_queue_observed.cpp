// What a local_queue tells the client's observer.
#include "lock/local/local_queue_outcome.hpp"

namespace colock::detail {

// ---- under the mutex

void local_queue::observe_grant(waiter& op, outcome& out)
{
    auto& o = op.observed;
    o.granted = out.time().count();
    o.source = out.source;
    if (out.source == grant_source::handed_off) {
        o.previous = out.has_ended ? out.ended.hold.id : 0;
    } else if (out.seldom_observed && out.seldom_observed->waited_for) {
        o.holder = new seen_holder{*out.seldom_observed->waited_for};
    }
    out.holder->observed.add(op.tag, {o.id, o.part_of, o.granted});
}

void local_queue::observe_end_of_hold(const contender_driver& driver, const observed_hold& h,
                                      const error_code& loss, outcome& out)
{
    const outcome::ended_hold e{h, static_cast<errc>(loss.value()),
                                driver.remaining(out.time()).count()};
    if (h.id == 0) {
        return;
    }
    if (!std::exchange(out.has_ended, true)) {
        out.ended = e;
        return;
    }
    if (!out.seldom_observed) {
        out.seldom_observed = std::make_unique<outcome::seldom>();
    }
    out.seldom_observed->ended.push_back(e);
}

// The waiter is not granted the lock.
void local_queue::observe_holder(waiter& op)
{
    if (observed_ != nullptr && notes_ && notes_->seen) {
        op.observed.holder = new seen_holder{*notes_->seen};
    }
}

// ---- any thread, without the mutex

void local_queue::tell_of_ended_holds(outcome& out)
{
    const auto tell = [&](const outcome::ended_hold& e) {
        observed_->to.end_hold(*observed_, shared_, e.hold, out.time(),
                               e.loss == errc{} ? error_code{} : error_code{e.loss},
                               std::chrono::nanoseconds{e.margin});
    };
    tell(out.ended);
    if (out.seldom_observed) {
        for (const auto& each : out.seldom_observed->ended) {
            tell(each);
        }
    }
}

} // namespace colock::detail
