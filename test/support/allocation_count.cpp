#include "allocation_count.hpp"

#include <malloc.h>

#include <atomic>
#include <cerrno>

// glibc's own, behind the names that are taken over here.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

std::atomic<int> counting{0};
std::atomic<std::uint64_t> calls{0};
std::atomic<std::uint64_t> bytes{0};

void count(std::size_t size) noexcept
{
    if (counting.load(std::memory_order_relaxed) != 0) {
        calls.fetch_add(1, std::memory_order_relaxed);
        bytes.fetch_add(size, std::memory_order_relaxed);
    }
}

} // namespace

extern "C" {

void* malloc(std::size_t size)
{
    count(size);
    return __libc_malloc(size);
}

void* calloc(std::size_t number, std::size_t size)
{
    count(number * size);
    return __libc_calloc(number, size);
}

void* realloc(void* old, std::size_t size)
{
    count(size);
    return __libc_realloc(old, size);
}

void* memalign(std::size_t alignment, std::size_t size)
{
    count(size);
    return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void** result, std::size_t alignment, std::size_t size)
{
    *result = memalign(alignment, size);
    return *result == nullptr ? ENOMEM : 0;
}

} // extern "C"

namespace colock::test {

allocation_count::allocation_count() : calls_before_{::calls.load()}, bytes_before_{::bytes.load()}
{
    ++counting;
}

allocation_count::~allocation_count()
{
    --counting;
}

std::uint64_t allocation_count::calls() const
{
    return ::calls.load() - calls_before_;
}

std::uint64_t allocation_count::bytes() const
{
    return ::bytes.load() - bytes_before_;
}

std::size_t heap_in_use()
{
    return ::mallinfo2().uordblks;
}

} // namespace colock::test
