#include <colock/unique_lock.hpp>

#include "lock/local/local_queue.hpp"

namespace colock {

unique_lock::unique_lock(detached_lock&& held, std::adopt_lock_t) noexcept
    : held_lock{held ? held.held_.member->queue()->core() : nullptr, std::move(held.held_)}
{
}

} // namespace colock
