#include "queue/newcomer_watch.hpp"

namespace colock::protocol::queue {

remote_contention newcomer_watch::contention(bool met_others) const noexcept
{
    switch (at_) {
    case step::asked: return remote_contention::unknown;
    case step::alone: return remote_contention::none;
    case step::not_alone: return remote_contention::some;
    case step::none: break;
    }
    return has_fired_ || met_others ? remote_contention::some : remote_contention::unknown;
}

} // namespace colock::protocol::queue
