#include "zk/process.hpp"

#include <pthread.h>

#include <utility>

namespace colock::zk {

namespace {

// A child would inherit a locked mutex from another thread of its parent.
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Before objects of static storage, so that no other handler of a child runs before this one.
__attribute__((constructor(101))) void learn_of_forks()
{
    ::pthread_atfork(nullptr, nullptr, [] { owning_process::forked(); });
}

struct kept {
    std::shared_ptr<const void> inherited;
    kept* next;
};
constinit std::atomic<kept*> all_kept{nullptr};

} // namespace

constinit std::atomic<std::uint64_t> owning_process::forks_{0};

void keep_to_the_end(std::shared_ptr<const void> inherited) noexcept
{
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): without memory for it, the process ends here
    auto* const added = new kept{std::move(inherited), all_kept.load()};
    while (!all_kept.compare_exchange_weak(added->next, added)) {
    }
}

} // namespace colock::zk
