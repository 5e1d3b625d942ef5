// A lock of an owner who may take it again.
#ifndef COLOCK_RECURSIVE_LOCK_HPP
#define COLOCK_RECURSIVE_LOCK_HPP

#include <colock/unique_lock.hpp>

#include <cstddef>

namespace colock {

/// Exclusive ownership of a lock, as `recursive_mutex::async_lock` grants it. The guards of one owner share the lock
/// and its token, and lose it together; see `recursive_mutex`.
class [[nodiscard]] COLOCK_DECL recursive_lock : public unique_lock {
public:
    /// How many guards the owner has of this lock; 0 when this object holds nothing.
    [[nodiscard]] std::size_t depth() const noexcept;

    void swap(recursive_lock& other) noexcept { held_lock::swap(other); }

private:
    using unique_lock::unique_lock;
};

inline void swap(recursive_lock& a, recursive_lock& b) noexcept
{
    a.swap(b);
}

} // namespace colock

#endif
