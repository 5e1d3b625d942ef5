// The process that owns an object. A forked child inherits copies of its parent's objects, and shares the parent's
// sockets, epoll and timers by them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace colock::zk {

// The process that has made this. Any thread.
class owning_process {
public:
    owning_process() noexcept : number_{forks_} {}

    // Whether this process is another one: a child that was forked later, or a child of such a child. One read of memory.
    [[nodiscard]] bool is_another() const noexcept
    {
        return forks_.load(std::memory_order_relaxed) != number_;
    }

    // In the child.
    static void forked() noexcept { ++forks_; }

private:
    // Grows from parent to child: so no process has the number of an ancestor.
    static std::atomic<std::uint64_t> forks_;

    std::uint64_t number_;
};

// Keeps an object until the process ends, where leak checkers find it: an inherited one must not be destroyed, because
// destructors of Asio's objects remove descriptors from an epoll that the parent waits on.
void keep_to_the_end(std::shared_ptr<const void> inherited) noexcept;

} // namespace colock::zk
