// What supervisor and guardian know at once, on a page that they share: the safe-until bound, whether the command may still
// be started, and whether the guardian ends it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace colock::cli {

// Made before the guardian is forked, or mapped by it. The supervisor renews the bound, the guardian reads it: when the supervisor is
// stopped, or gone, the bound stays as it was.
class shared_bound {
public:
    // In a file, which it takes, for a process that gets the file; or, without one, for those that are forked from now on.
    // Throws std::system_error.
    explicit shared_bound(int file = -1);
    [[nodiscard]] static int make_file();
    shared_bound(const shared_bound&) = delete;
    shared_bound& operator=(const shared_bound&) = delete;
    ~shared_bound();

    // For a process that shall map it, too.
    [[nodiscard]] int file() const noexcept { return file_; }

    // The guardian's process; 0 before it is there.
    void set_guardian(std::int32_t process) noexcept { page_->guardian.store(process); }
    [[nodiscard]] std::int32_t guardian() const noexcept { return page_->guardian.load(); }

    // A time of boot_time().
    void renew(std::chrono::nanoseconds until) noexcept { page_->until.store(until.count()); }
    [[nodiscard]] std::chrono::nanoseconds until() const noexcept
    {
        return std::chrono::nanoseconds{page_->until.load()};
    }

    // One start. Whoever comes first decides: the process that takes it before it becomes the command, or the supervisor,
    // which forbids it when it knows that the lock is lost.
    void allow_start() noexcept { page_->start.store(start_state::allowed); }
    // False when it was taken before.
    bool forbid_start() noexcept
    {
        auto before = start_state::allowed;
        page_->start.compare_exchange_strong(before, start_state::forbidden);
        return before != start_state::taken;
    }
    // False when it was forbidden, and after the bound: the supervisor was stopped when it wanted to start the command.
    [[nodiscard]] bool take_start(std::chrono::nanoseconds now) noexcept
    {
        auto before = start_state::allowed;
        return now < until() && page_->start.compare_exchange_strong(before, start_state::taken);
    }

    // The guardian has sent SIGKILL to all processes there are, or has found none. It goes on until none is left, so the
    // supervisor sees that it works.
    void count_work() noexcept { page_->work_done.fetch_add(1); }
    [[nodiscard]] std::int64_t work_done() const noexcept { return page_->work_done.load(); }

private:
    enum class start_state : std::int32_t { forbidden, allowed, taken };
    struct page {
        std::atomic<std::int64_t> until{0};
        std::atomic<start_state> start{start_state::forbidden};
        std::atomic<std::int64_t> work_done{0};
        std::atomic<std::int32_t> guardian{0};
    };
    // Or processes could not share them.
    static_assert(std::atomic<std::int64_t>::is_always_lock_free &&
                  std::atomic<start_state>::is_always_lock_free);

    int file_;
    page* page_;
};

} // namespace colock::cli
