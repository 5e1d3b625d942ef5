// The arrivals of a client that are taken back while their callers have gone on.
#pragma once

#include <colock/lock_options.hpp>

#include "names/kinds.hpp"
#include "session/core.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock::detail {

// Those at one latch or barrier. On the strand.
class withdrawals final : public path_entry {
public:
    [[nodiscard]] static std::shared_ptr<withdrawals> of(const std::shared_ptr<client_core>& core,
                                                         const std::string& path)
    {
        const auto key = "arrivals at " + path; // which is no path: a lock may be there, too
        return std::static_pointer_cast<withdrawals>(
            core->find_path(key, [&] { return std::make_shared<withdrawals>(core, key); }));
    }
    withdrawals(std::shared_ptr<client_core> core, std::string key)
        : core_{std::move(core)}, key_{std::move(key)}
    {
    }
    withdrawals(const withdrawals&) = delete;
    withdrawals& operator=(const withdrawals&) = delete;
    ~withdrawals() override { core_->forget_path(key_); }

    [[nodiscard]] const lock_kind& kind() const noexcept override { return kinds::rendezvous; }
    [[nodiscard]] const lock_options& options() const noexcept override { return none_; }
    void discarded() noexcept override { const auto dropped = std::exchange(waiting_, {}); }

    void begin() noexcept { ++under_way_; }
    void end()
    {
        if (--under_way_ == 0) {
            for (const auto& each : std::exchange(waiting_, {})) {
                each();
            }
        }
    }
    // Returns false when there are none, else calls `then` when they are gone.
    [[nodiscard]] bool wait(std::function<void()> then)
    {
        if (under_way_ != 0) {
            waiting_.push_back(std::move(then));
        }
        return under_way_ != 0;
    }

private:
    const std::shared_ptr<client_core> core_;
    const std::string key_;
    const lock_options none_;
    std::size_t under_way_ = 0;
    std::vector<std::function<void()>> waiting_;
};

} // namespace colock::detail
