// The kinds of locks, which cannot share a path.
#pragma once

namespace colock::detail {

enum class lock_kind {
    mutex,
    recursive_mutex,
    shared_mutex,
    semaphore,
    semaphore_queue,
    election,
    single_node_mutex
};

} // namespace colock::detail
