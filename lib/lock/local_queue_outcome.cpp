// The effects of an input to a local_queue: under the mutex, after it, and on the strand.
#include "lock/local_queue_outcome.hpp"

#include "queue/no_lock.hpp"

#include <algorithm>
#include <utility>

namespace colock::detail {

using protocol::cohort;

void local_queue::apply(const cohort::actions& v, outcome& out)
{
    for (std::size_t i = 0; i != v.admit; ++i) {
        auto& next = waiting_.front();
        const auto since = next.tag;
        admit(take(next).release(), out, since);
    }
    if (v.leave) {
        out.strand().leaving.push_back({std::move(holder_), {}});
    }
    look_ |= v.look;
    const bool linger = v.idle && !std::exchange(lingering_, true);
    out.reconcile |= v.leave || v.reconcile || v.look || linger;
}

void local_queue::admit(waiter* op, outcome& out, std::uint64_t waited_since)
{
    if (shared_) {
        if (!shared_turns_) {
            shared_turns_ = std::make_unique<std::unordered_set<std::uint64_t>>();
        }
        shared_turns_->insert(turns_);
    }
    op->tag = turns_++;
    out.admitted.push_back(*op);
    if (!out.holder) {
        out.holder = holder_;
    }
    report_.granted(*op, waited_since, out.holder->observed, out.reported, out.time());
    ++out.holder->users;
}

// The last thing that is done: a user who is let in may be done, and this object gone, before it returns.
void local_queue::carry_out(outcome& out)
{
    if (out.self) {
        out.self->report();
    }
    if (out.reported.any_ended()) {
        report_.tell(out.reported, out.time());
    }
    const bool more = out.reconcile || out.on_the_strand;
    const auto self = more && !out.self ? shared_from_this() : std::move(out.self);
    if (!out.admitted.empty() && !out.core) {
        out.core = core_;
    }
    const bool inside = !kind().queue_of.empty();
    while (!out.admitted.empty()) {
        operation_ptr<error_code, unique_lock> op{&out.admitted.front()};
        out.admitted.pop_front();
        (inside ? out.core->count.granted_inside : out.core->count.locks_granted)
            .fetch_add(1, std::memory_order_relaxed);
        const auto turn = op->tag;
        // As a rule there is but one, which needs no references of its own.
        if (out.admitted.empty()) {
            op.complete({}, access::make<unique_lock>(std::move(out.core),
                                                      grant{std::move(out.holder), turn}));
        } else {
            op.complete({}, access::make<unique_lock>(out.core, grant{out.holder, turn}));
        }
    }
    if (!more) {
        return;
    }
    core_->dispatch([self, rest = std::move(out.on_the_strand)] {
        strand_work none;
        self->reconcile(rest ? *rest : none);
    });
}

// On the strand. The cohort may have changed what it wants several times meanwhile.
void local_queue::reconcile(strand_work& work)
{
    if (work.turn_over) {
        work.turn_over->turn_over(work.turn);
    }
    std::shared_ptr<contender_driver> unwanted, joining, looking;
    error_code refused;
    {
        const std::lock_guard lock{mutex_};
        if (work.cancelled_with == holder_ ||
            (work.cancelled_with == contender_ && cohort_.wants_contender())) {
            work.cancelled_with.reset(); // it serves other waiters
        }
        if (!cohort_.wants_contender()) {
            unwanted = std::move(contender_);
            report_.forget_contender();
        } else if (!contender_) {
            refused = core_->unavailable();
            if (!refused) {
                joining = contender_ = make_contender();
                report_.forget_contender();
            }
        }
        if (std::exchange(look_, false)) {
            looking = holder_;
        }
        if (lingering_ && !linger_timer_) {
            linger_timer_ = std::make_unique<zk::timer>(core_->strand());
            wait_to_give_up();
        }
    }
    const client_core::batch together{*core_};
    const auto leave = [&] {
        for (auto& each : work.leaving) {
            if (each.unlocking) {
                each.driver->unlock(std::move(each.unlocking));
            } else {
                each.driver->leave();
            }
        }
    };
    if (!joining) {
        leave();
    } else if (std::ranges::any_of(work.leaving,
                                   [](const auto& each) { return each.driver->is_late(); })) {
        leave();
        joining->join();
        joining->go_on();
    } else {
        // Create first: if the remove went first, a remote contender could have its turn, and queue again, before this
        // client joins.
        joining->join();
        leave();
        joining->go_on();
    }
    if (work.cancelled && work.cancelled_with) {
        work.cancelled_with->await_removal(std::move(work.cancelled));
    } else if (work.cancelled) {
        work.cancelled.complete(asio::error::operation_aborted, no_lock(core_));
    }
    if (unwanted) {
        unwanted->leave();
    }
    if (looking) {
        looking->look_around();
    }
    if (refused) {
        const auto why = "lock " + path() + ": " + refused.message();
        core_->note_error(why);
        fail_all(refused, why);
    }
}

// One timer for all the times when nobody uses the node: most are too short for it.
void local_queue::wait_to_give_up()
{
    linger_timer_->expires_after(cohort_.linger_end() - boot_clock::now());
    linger_timer_->async_wait([weak = weak_from_this()](const error_code& ec) {
        const auto self = weak.lock();
        if (!self || ec) {
            return;
        }
        self->input([&](outcome& out) {
            const auto v = self->cohort_.linger_over(boot_clock::now());
            if (v.idle) {
                self->wait_to_give_up();
            } else {
                self->lingering_ = false;
                self->linger_timer_.reset();
            }
            self->apply(v, out);
        });
    });
}

} // namespace colock::detail
