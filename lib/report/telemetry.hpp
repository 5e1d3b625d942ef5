// What a client tells its observer, and counts for client_stats::acquisitions and times. A client without observer and
// histograms has none of this.
#pragma once

#include <colock/client_state.hpp>
#include <colock/detail/observation.hpp>
#include <colock/observer.hpp>

#include "zk/process.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace colock::detail {

class telemetry;

// What one lock object's acquisitions have in common. Immutable.
struct observed_path {
    telemetry& to;
    std::string path;
    acquisition_kind kind;
};

// The last holder that a waiter was seen to wait for.
struct seen_holder {
    std::string node;
    std::string owner;
};

// Between a grant and its end. Without an id there is none.
struct observed_hold {
    std::uint64_t id;
    std::uint64_t part_of;
    std::chrono::nanoseconds::rep since; // of the boot_clock
};

// Any thread, with no lock of the library held, except where a function says otherwise.
class telemetry {
public:
    telemetry(std::shared_ptr<observer> told, bool keeps_times)
        : told_{std::move(told)}, keeps_times_{keeps_times}
    {
    }

    // Whether the calling thread is within a call of an observer.
    [[nodiscard]] static bool is_telling() noexcept { return telling_; }

    // Gives the observation an id, and tells. `tries`: it does not wait.
    void begin(observation& o, const observed_path& of, bool shared, bool tries = false) noexcept;
    // The caller is about to be told. `granted`: with this token, by this node.
    void end(observation& o, acquisition_outcome outcome, const error_code& ec,
             const fencing_token& token = {}, const std::string* node = nullptr) noexcept;
    void end_hold(const observed_path& of, bool shared, const observed_hold& h,
                  std::chrono::nanoseconds now, const error_code& loss,
                  std::chrono::nanoseconds margin) noexcept;
    void answered(const heartbeat_answer& a) noexcept;
    void began(const shard_start& s) noexcept;
    void ended(const shard_end& s) noexcept;

    // After the other counters: so there are no more ends than beginnings. `granted`: so many were.
    void add_to(client_stats& s, std::uint64_t granted) const noexcept;

private:
    class times {
    public:
        void add(std::chrono::nanoseconds t) noexcept;
        [[nodiscard]] histogram read() const noexcept;

    private:
        std::array<std::atomic<std::uint64_t>, std::tuple_size_v<decltype(histogram::buckets)>>
            counts_{};
        std::atomic<std::uint64_t> sum_{0}; // nanoseconds
    };

    template <class Call>
    void tell(Call&& call) noexcept
    {
        if (owner_.is_another()) {
            return; // what a child destroys of its parent's operations is no end of them
        }
        const bool within = std::exchange(telling_, true); // another client's call
        call(*told_);
        telling_ = within;
    }

    static inline thread_local bool telling_ = false;

    const zk::owning_process owner_;
    const std::shared_ptr<observer> told_; // may be null
    const bool keeps_times_;
    std::atomic<std::uint64_t> begun_{0}; // their ids begin with 1
    // A multi_lock as a whole does not count beside its parts.
    static constexpr std::uint64_t first_joint = std::uint64_t{1} << 63;
    std::atomic<std::uint64_t> joint_{0};
    std::atomic<std::uint64_t> busy_{0}, timed_out_{0}, cancelled_{0}, failed_{0}, dropped_{0},
        handed_over_{0};
    times wait_, hold_, margin_, heartbeat_, shard_gap_;
};

} // namespace colock::detail
