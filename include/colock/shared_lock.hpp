// A lock that is held together with others.
#ifndef COLOCK_SHARED_LOCK_HPP
#define COLOCK_SHARED_LOCK_HPP

#include <colock/held_lock.hpp>

namespace colock {

/// Shared ownership of a lock, as `shared_mutex::async_lock_shared` grants it.
class [[nodiscard]] COLOCK_DECL shared_lock : public held_lock {
public:
    void swap(shared_lock& other) noexcept { held_lock::swap(other); }

private:
    using held_lock::held_lock;
};

inline void swap(shared_lock& a, shared_lock& b) noexcept
{
    a.swap(b);
}

} // namespace colock

#endif
