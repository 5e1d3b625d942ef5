// What a path is used for in one client.
#pragma once

#include <colock/observer.hpp>

namespace colock::detail {

// Two lock objects of a path must be of one kind. semaphore_queue is the mutex inside a semaphore.
enum class lock_kind {
    mutex,
    recursive_mutex,
    shared_mutex,
    semaphore,
    semaphore_queue,
    election,
    single_node_mutex
};

// In the words of an observer, which is not told of a semaphore_queue.
[[nodiscard]] constexpr acquisition_kind observed_kind(lock_kind kind) noexcept
{
    using to = acquisition_kind;
    switch (kind) {
    case lock_kind::mutex: return to::mutex;
    case lock_kind::recursive_mutex: return to::recursive_mutex;
    case lock_kind::shared_mutex: return to::shared_mutex;
    case lock_kind::election: return to::election;
    case lock_kind::single_node_mutex: return to::single_node_mutex;
    case lock_kind::semaphore:
    case lock_kind::semaphore_queue: break;
    }
    return to::semaphore;
}

} // namespace colock::detail
