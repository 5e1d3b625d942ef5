#include "zk/process.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <utility>

namespace colock::zk {

namespace {

using number = std::atomic<std::uint64_t>; // 0: nobody has asked in this process

static_assert(number::is_always_lock_free);

// No mutex guards any of this: a child would inherit a locked one from another thread of its parent.
constinit std::atomic<number*> number_here{nullptr};
constinit number last_number{
    0}; // grows from parent to child: so no process has the number of an ancestor
constinit number without_page{0};

// A page that the kernel fills with zeros in a forked child. Null where it does not.
[[nodiscard]] number* new_page() noexcept
{
#if defined(MADV_WIPEONFORK) && !defined(COLOCK_PORTABLE)
    const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const page =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return nullptr;
    }
    if (::madvise(page, size, MADV_WIPEONFORK) != 0) { // Linux before 4.14
        ::munmap(page, size);
        return nullptr;
    }
    return ::new (page) number{0};
#else
    return nullptr;
#endif
}

[[nodiscard]] number& find_number() noexcept
{
    if (auto* const found = number_here.load(std::memory_order_acquire)) {
        return *found;
    }
    auto* made = new_page();
    if (made == nullptr) {
        made = &without_page;
        ::pthread_atfork(nullptr, nullptr, [] { without_page.store(0); });
    }
    number* first = nullptr;
    return number_here.compare_exchange_strong(first, made) ? *made
                                                            : *first; // else a page too many
}

[[nodiscard]] std::uint64_t number_of_this_process(number& here) noexcept
{
    auto found = here.load();
    if (found == 0) {
        const auto next = ++last_number;
        found = here.compare_exchange_strong(found, next) ? next : found;
    }
    return found;
}

struct kept {
    std::shared_ptr<const void> inherited;
    kept* next;
};
constinit std::atomic<kept*> all_kept{nullptr};

} // namespace

owning_process::owning_process() noexcept
{
    auto& here = find_number();
    number_here_ = &here;
    number_ = number_of_this_process(here);
}

void keep_to_the_end(std::shared_ptr<const void> inherited) noexcept
{
    auto* const added = new kept{std::move(inherited), all_kept.load()};
    while (!all_kept.compare_exchange_weak(added->next, added)) {
    }
}

} // namespace colock::zk
