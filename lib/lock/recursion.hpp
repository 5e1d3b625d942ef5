// One lock of one owner of a recursive_mutex: the guards that share it.
#pragma once

#include <colock/unique_lock.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace colock::detail {

// Any thread. Made when the owner begins to wait for the lock, and gone with the last guard.
class recursion {
public:
    explicit recursion(const lock_path& path);

    [[nodiscard]] bool is_of(const lock_path& path) const;
    // The last guard has gone; what is left are references.
    [[nodiscard]] bool is_over() const noexcept;

    // The lock was granted, for the first guard.
    static void begin(const std::shared_ptr<recursion>& self, grant& held);

    // Of one more: `held`, or why not; none of both when it is over.
    struct entry {
        grant held;
        error_code refused;
    };
    [[nodiscard]] static entry enter(const std::shared_ptr<recursion>& self);

    struct departure {
        bool in_order;
        bool last; // the lock is to be released
    };
    static departure leave(std::unique_ptr<recursion_level> from) noexcept;

    [[nodiscard]] std::size_t depth() const noexcept;

private:
    const std::shared_ptr<client_core> core_;
    const std::string path_;
    mutable std::mutex mutex_;
    std::shared_ptr<contender_driver>
        driver_; // none while the lock is waited for, and when it is over
    std::uint64_t turn_ = 0;
    std::vector<bool> levels_; // whether their guards are still there
    bool over_ = false;
};

// The lock that an owner has, or waits for.
class owner_state {
public:
    // Of this path; empty when there is none.
    [[nodiscard]] std::shared_ptr<recursion> find(const lock_path& path);
    [[nodiscard]] std::shared_ptr<recursion> add(const lock_path& path);

    std::mutex mutex; // held by the caller from find() to add()

private:
    std::vector<std::weak_ptr<recursion>> recursions_; // a few
};

} // namespace colock::detail
