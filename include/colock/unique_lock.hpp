// A lock that is held exclusively.
#ifndef COLOCK_UNIQUE_LOCK_HPP
#define COLOCK_UNIQUE_LOCK_HPP

#include <colock/held_lock.hpp>

namespace colock {

/// Exclusive ownership of a lock, as `mutex::async_lock` grants it.
class [[nodiscard]] COLOCK_DECL unique_lock : public held_lock {
public:
    void swap(unique_lock& other) noexcept { held_lock::swap(other); }

private:
    using held_lock::held_lock;
};

inline void swap(unique_lock& a, unique_lock& b) noexcept
{
    a.swap(b);
}

} // namespace colock

#endif
