// Locks of every kind, taken in every way, behind one function.
#pragma once

#include "held.hpp"

#include <chrono>
#include <cstdint>
#include <variant>

namespace world::workload {

struct wish {
    enum class way { wait, at_once, limited };

    way how = way::wait;
    std::chrono::nanoseconds limit{};
    bool shared = false;
    std::int64_t permits = 1;
};

// A lock that one owner may take again.
struct owned_mutex {
    colock::recursive_mutex lock;
    std::shared_ptr<colock::lock_owner> owner;
};

using any_lock = std::variant<colock::mutex, owned_mutex, colock::shared_mutex,
                              colock::single_node_mutex, colock::semaphore>;

// Of the place; not of an election. The customer has its client.
[[nodiscard]] any_lock make_lock(customer& by, std::size_t place);

[[nodiscard]] wish draw_wish(customer& by, std::size_t place, random& chance);

struct taken {
    colock::error_code error;
    any_guard guard; // holds nothing when the lock was busy
};

[[nodiscard]] asio::awaitable<taken> take(customer::ptr by, any_lock& lock, wish how,
                                          asio::cancellation_slot stop);

} // namespace world::workload
