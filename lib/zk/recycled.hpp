// Memory of what comes and goes with each request: a thread keeps some of it for its next ones, as Asio does
// for handlers.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace colock::detail {

// Any thread. What one thread has allocated, another one may free. A thread keeps 68 KiB at most, until it ends.
[[nodiscard]] void* allocate_recycled(std::size_t size);
void free_recycled(void* memory, std::size_t size) noexcept;

// A base class. `new` and `delete` of what derives from it use such memory.
class recycled {
public:
    // NOLINTNEXTLINE(misc-new-delete-overloads): it takes `delete` with a size for none
    static void* operator new(std::size_t size) { return allocate_recycled(size); }
    static void operator delete(void* memory, std::size_t size) noexcept
    {
        free_recycled(memory, size);
    }

protected:
    recycled() = default;
    ~recycled() = default;
};

template <class T>
struct recycling_allocator {
    using value_type = T;

    recycling_allocator() = default;
    template <class Other>
    recycling_allocator(const recycling_allocator<Other>&) noexcept
    {
    }

    [[nodiscard]] T* allocate(std::size_t count)
    {
        static_assert(alignof(T) <= alignof(std::max_align_t));
        return static_cast<T*>(allocate_recycled(count * sizeof(T)));
    }
    void deallocate(T* memory, std::size_t count) noexcept
    {
        free_recycled(memory, count * sizeof(T));
    }

    friend bool operator==(const recycling_allocator&, const recycling_allocator&) = default;
};

template <class T, class... Args>
[[nodiscard]] std::shared_ptr<T> make_recycled(Args&&... args)
{
    return std::allocate_shared<T>(recycling_allocator<T>{}, std::forward<Args>(args)...);
}

} // namespace colock::detail
