// A lock that is held exclusively.
#ifndef COLOCK_UNIQUE_LOCK_HPP
#define COLOCK_UNIQUE_LOCK_HPP

#include <colock/held_lock.hpp>

#include <memory>
#include <mutex>
#include <utility>

namespace colock {

/// A held lock that belongs to no guard: what `unique_lock::release` leaves behind, for a guard to adopt.
///
/// Destroying it does not release the lock, which then is held until the client is closed.
class [[nodiscard]] detached_lock {
public:
    detached_lock() noexcept = default;
    detached_lock(detached_lock&&) noexcept = default;
    detached_lock& operator=(detached_lock&&) noexcept = default;
    detached_lock(const detached_lock&) = delete;
    detached_lock& operator=(const detached_lock&) = delete;
    ~detached_lock() = default;

    /// False for one that is empty, adopted or moved from. Does not say whether the lock was lost.
    [[nodiscard]] explicit operator bool() const noexcept { return held_.member != nullptr; }

private:
    friend class unique_lock;
    explicit detached_lock(detail::grant held) noexcept : held_{std::move(held)} {}

    detail::grant held_;
};

/// Exclusive ownership of a lock, as `mutex::async_lock` grants it.
class [[nodiscard]] COLOCK_DECL unique_lock : public held_lock {
public:
    /// Holds nothing.
    unique_lock() noexcept = default;

    /// Takes over a lock that another guard has released.
    unique_lock(detached_lock&& held, std::adopt_lock_t) noexcept;

    unique_lock(unique_lock&& other) noexcept = default;
    unique_lock& operator=(unique_lock&& other) noexcept = default;
    ~unique_lock() = default;

    /// Empties this object without releasing the lock.
    detached_lock release() noexcept { return detached_lock{std::move(held_)}; }

    void swap(unique_lock& other) noexcept { held_lock::swap(other); }
    friend void swap(unique_lock& a, unique_lock& b) noexcept { a.swap(b); }

private:
    friend class shared_lock;
    friend class detail::local_queue;
    friend class detail::lock_path;
    friend class detail::queue_member;
    friend struct detail::nesting;

    using held_lock::held_lock;
};

} // namespace colock

#endif
