// What a path is used for in one client.
#pragma once

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

} // namespace colock::detail
