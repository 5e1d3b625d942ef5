// What waits for the end of a turn, for its loss, or for somebody to ask for the node.
#include "queue/contender_driver_feed.hpp"

#include <utility>

namespace colock::detail {

void contender_driver::wait_lost(operation_ptr<error_code, error_code> op, std::uint64_t turn,
                                 bool held)
{
    check();
    lease_.wait(std::move(op), held && lease_.asks_for_check(), turn);
}

void contender_driver::wait_revoked(operation_ptr<error_code> op, std::uint64_t turn, bool held)
{
    check();
    if (const auto why = lost(); why) {
        op.complete(why);
        return;
    }
    if (!held || !lease_.asks_for_check()) {
        op.complete(errc::not_held);
        return;
    }
    if (revoked_) {
        op.complete({});
        return;
    }
    op->tag = turn;
    waiting_for_revocation_.add(std::move(op));
    // The read that sets the watch on the own node tells what has been asked already, the watch what follows.
    own_watch_due();
}

void contender_driver::announce_revocation()
{
    waiting_for_revocation_.complete_all({});
    tell(contender_event::kind::revoked);
}

void contender_driver::turn_over(std::uint64_t turn)
{
    lease_.end_turn(turn);
    waiting_for_revocation_.complete_tagged(turn, errc::not_held);
    turn_awaited_ = lease_.is_awaited() || !waiting_for_revocation_.empty();
}

void contender_driver::end_turns()
{
    lease_.end_turns();
    waiting_for_revocation_.complete_all(errc::not_held);
}

} // namespace colock::detail
