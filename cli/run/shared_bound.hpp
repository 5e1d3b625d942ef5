// The safe-until bound, on a page that supervisor and guardian share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace colock::cli {

// Made before the guardian is forked. The supervisor renews the bound, the guardian reads it: when the supervisor is
// stopped, or gone, the bound stays as it was.
class shared_bound {
public:
    shared_bound(); // throws std::system_error
    shared_bound(const shared_bound&) = delete;
    shared_bound& operator=(const shared_bound&) = delete;
    ~shared_bound();

    // A time of boot_time().
    void renew(std::chrono::nanoseconds until) noexcept { page_->store(until.count()); }
    [[nodiscard]] std::chrono::nanoseconds until() const noexcept
    {
        return std::chrono::nanoseconds{page_->load()};
    }

private:
    using number = std::atomic<std::int64_t>;
    static_assert(number::is_always_lock_free); // or processes could not share it

    number* page_;
};

} // namespace colock::cli
