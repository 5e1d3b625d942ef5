#include "zk/recycled.hpp"

#include <array>
#include <new>

namespace colock::detail {

namespace {

// A sanitizer shall see each use of memory that was freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif
#else
constexpr bool sanitized = false;
#endif

constexpr std::size_t step = 64;
constexpr std::size_t classes = 16; // up to 1024 bytes
constexpr unsigned most_of_a_class = 8;

constexpr std::size_t class_of(std::size_t size) noexcept
{
    return size == 0 ? 0 : (size - 1) / step;
}

struct free_block {
    free_block* next;
};

struct kept_blocks {
    free_block* first = nullptr;
    unsigned count = 0;
};

// Trivially destructible: objects that outlive a thread's other objects may still be freed there. Then nothing is kept.
thread_local constinit std::array<kept_blocks, classes> kept{};
thread_local constinit bool thread_ends = false;

struct at_thread_end {
    at_thread_end() = default;
    at_thread_end(const at_thread_end&) = delete;
    at_thread_end& operator=(const at_thread_end&) = delete;
    ~at_thread_end()
    {
        thread_ends = true;
        for (auto& each : kept) {
            while (each.first != nullptr) {
                ::operator delete(std::exchange(each.first, each.first->next));
            }
        }
    }
};

void free_at_thread_end()
{
    static thread_local const at_thread_end cleaner;
    static_cast<void>(cleaner);
}

} // namespace

void* allocate_recycled(std::size_t size)
{
    const auto which = class_of(size);
    if (sanitized || which >= classes) {
        return ::operator new(size);
    }
    auto& blocks = kept[which];
    if (blocks.first == nullptr) {
        return ::operator new((which + 1) * step);
    }
    --blocks.count;
    return std::exchange(blocks.first, blocks.first->next);
}

void free_recycled(void* memory, std::size_t size) noexcept
{
    const auto which = class_of(size);
    if (!sanitized && which < classes && !thread_ends && memory != nullptr) {
        if (auto& blocks = kept[which]; blocks.count != most_of_a_class) {
            free_at_thread_end();
            blocks.first = ::new (memory) free_block{blocks.first};
            ++blocks.count;
            return;
        }
    }
    ::operator delete(memory);
}

} // namespace colock::detail
