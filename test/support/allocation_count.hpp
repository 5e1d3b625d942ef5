#ifndef COLOCK_TEST_SUPPORT_ALLOCATION_COUNT_HPP
#define COLOCK_TEST_SUPPORT_ALLOCATION_COUNT_HPP

#include <cstddef>
#include <cstdint>

namespace colock::test {

/// What a program has asked its heap for: Asio and the C client do so past `operator new`.
/**
 * `allocation_count.cpp` takes the place of the C library's `malloc`; it is linked into those programs that
 * count, and cannot be used with sanitizers. All threads are counted, while an object exists.
 */
class allocation_count {
public:
    allocation_count();
    allocation_count(const allocation_count&) = delete;
    allocation_count& operator=(const allocation_count&) = delete;
    ~allocation_count();

    [[nodiscard]] std::uint64_t calls() const; ///< Those that gave memory, since it was made.
    [[nodiscard]] std::uint64_t bytes() const; ///< They asked for.

private:
    std::uint64_t calls_before_;
    std::uint64_t bytes_before_;
};

/// What is allocated now, with the heap's own overhead.
[[nodiscard]] std::size_t heap_in_use();

} // namespace colock::test

#endif
