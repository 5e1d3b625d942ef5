#include "lock/local_contenders.hpp"

#include "lock/local_queue.hpp"
#include "queue/no_lock.hpp"

#include <algorithm>

namespace colock::detail {

// ---- what happens to them

void local_contenders::happened(contender_driver& to, contender_event&& e)
{
    using kind = contender_event::kind;
    switch (e.what) {
    case kind::connected:
    case kind::met:
    case kind::revoked: queue_.heard(to, e); break;
    case kind::blocked:
        queue_.locked([&] {
            if (queue_.users().contender().get() == &to) {
                queue_.report().blocked(std::move(e.ahead), queue_.users().known());
            }
        });
        queue_.report().send();
        break;
    case kind::granted: queue_.granted(to, e.contention, std::move(e.op)); break;
    case kind::failed:
        if (queue_.locked([&] { return queue_.users().contender().get() == &to; })) {
            queue_.fail_all(e.error, e.why);
        }
        break;
    case kind::stepped_down: {
        const auto self = queue_.shared_from_this(); // the driver keeps it no longer
        const auto heirs = queue_.readers();
        to.serve(heirs->contenders());
        const auto turn =
            std::exchange(e.op->tag, 0); // turns go on from it: tokens never get smaller
        heirs->granted(to, e.contention, std::move(e.op), turn);
        break;
    }
    case kind::lost: queue_.lost(to); break;
    case kind::closed: queue_.fail_all(e.error, e.why); break;
    case kind::discarded: queue_.discarded(); break;
    case kind::caught_up: {
        contender_work work;
        if (queue_.locked([&] { return std::exchange(to.is_left, false); })) {
            work.leaving.push_back(to.shared_from_this());
        }
        reconcile(work);
        break;
    }
    }
}

// ---- what is wanted of them

std::shared_ptr<contender_driver> local_contenders::make_contender()
{
    return make_recycled<contender_driver>(*queue_.core(), queue_.config(), queue_.is_shared(),
                                           queue_.linger() > std::chrono::milliseconds{0},
                                           queue_.contenders());
}

void local_contenders::reconcile(contender_work& work)
{
    if (work.turn_over) {
        work.turn_over->turn_over(work.turn);
    }
    local_users::node unwanted, looking;
    std::shared_ptr<contender_driver> joining;
    error_code refused;
    queue_.locked([&] {
        auto& users = queue_.users();
        unwanted = users.take_unwanted_contender();
        if (users.lacks_contender()) {
            refused = queue_.core()->unavailable();
            if (!refused) {
                joining = make_contender();
                users.join(joining);
            }
        }
        if (!users.contender() || joining) {
            queue_.report().forget_contender();
        }
        looking = users.take_look();
        if (const auto end = users.linger_end(); end && !linger_timer_) {
            linger_timer_ = std::make_unique<zk::timer>(queue_.core()->strand());
            linger_until(*end);
        }
    });
    const client_core::batch together{*queue_.core()};
    const bool late = std::ranges::any_of(
        work.leaving, [](const auto& each) { return driver_of(each)->is_late(); });
    // Create first: if the remove went first, a remote contender could have its turn, and queue again, before this client joins.
    if (joining && !late) {
        joining->join();
    }
    for (auto& each : work.leaving) {
        const auto driver = driver_of(std::move(each));
        if (work.unlocking && &each == &work.leaving.back()) {
            driver->unlock(std::move(work.unlocking));
        } else {
            driver->leave();
        }
    }
    if (joining && late) {
        joining->join();
    }
    if (joining) {
        joining->go_on();
    }
    if (unwanted) {
        driver_of(std::move(unwanted))->leave();
    }
    if (looking) {
        driver_of(std::move(looking))->look_around();
    }
    if (refused) {
        const auto why = "lock " + queue_.path() + ": " + refused.message();
        queue_.core()->note_error(why);
        queue_.fail_all(refused, why);
    }
}

void local_contenders::try_servers(operation_ptr<error_code, unique_lock> op)
{
    const auto& core = queue_.core();
    auto refused = core->unavailable();
    if (!refused && !core->is_connected()) {
        refused = errc::disconnected;
    }
    if (const auto& link = op.cancellation();
        link && link->requested() != asio::cancellation_type::none) {
        op.complete(asio::error::operation_aborted, no_lock(core));
    } else if (refused) {
        const auto why = "lock " + queue_.path() + ": " + refused.message();
        core->note_error(why);
        refuse(core, std::move(op), refused, why);
    } else {
        make_contender()->try_join(std::move(op));
    }
}

void local_contenders::end_cancelled(operation_ptr<error_code, unique_lock> op,
                                     const local_users::node& with)
{
    // It serves other waiters by now.
    if (!with || queue_.locked([&] { return queue_.users().uses(with); })) {
        op.complete(asio::error::operation_aborted, no_lock(queue_.core()));
    } else {
        driver_of(with)->await_removal(std::move(op));
    }
}

void local_contenders::linger_until(std::chrono::nanoseconds end)
{
    linger_timer_->expires_after(end - boot_clock::now());
    linger_timer_->async_wait([weak = queue_.weak_from_this(), this](const error_code& ec) {
        const auto queue = weak.lock();
        if (!queue || ec) {
            return;
        }
        queue->input([&](local_queue::outcome& out) {
            if (const auto later = queue->users().linger_over(boot_clock::now(), out)) {
                linger_until(*later);
            } else {
                linger_timer_.reset();
            }
        });
    });
}

} // namespace colock::detail
