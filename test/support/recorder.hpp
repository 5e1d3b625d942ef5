#ifndef COLOCK_TEST_SUPPORT_RECORDER_HPP
#define COLOCK_TEST_SUPPORT_RECORDER_HPP

#include <colock/client_state.hpp>
#include <colock/observer.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace colock::test {

/// An observer that keeps what it hears, and counts what it must not hear.
class recorder final : public observer {
public:
    struct ended {
        acquisition_outcome outcome;
        error_code error;
        std::chrono::nanoseconds waited;
        grant_source source;
        fencing_token token;
        std::string node, holder_node, holder_owner;
        std::uint64_t previous;
    };
    struct hold {
        std::chrono::nanoseconds held;
        error_code loss;
        std::chrono::nanoseconds margin;
    };
    struct acquisition {
        std::uint64_t id;
        acquisition_kind kind;
        bool shared;
        std::string path;
        std::uint64_t part_of;
        std::optional<ended> end = {};
        std::optional<hold> hold_end = {};
    };

    /// Called within the functions, with no lock held.
    std::function<void()> also;

    void acquisition_began(const acquisition_start& e) noexcept override
    {
        {
            const std::lock_guard lock{mutex_};
            faults_ += all_.contains(e.what.id) || e.what.id == 0 ? 1 : 0;
            all_.emplace(e.what.id, acquisition{e.what.id, e.what.kind, e.what.shared,
                                                std::string{e.what.path}, e.what.part_of});
        }
        call();
    }
    void acquisition_ended(const acquisition_end& e) noexcept override
    {
        {
            const std::lock_guard lock{mutex_};
            if (auto* const a = find(e.what); a == nullptr || a->end) {
                ++faults_;
            } else {
                a->end = {e.outcome,
                          e.error,
                          e.waited,
                          e.source,
                          e.token,
                          std::string{e.node},
                          std::string{e.holder_node},
                          std::string{e.holder_owner},
                          e.previous};
            }
        }
        call();
    }
    void hold_ended(const hold_end& e) noexcept override
    {
        {
            const std::lock_guard lock{mutex_};
            if (auto* const a = find(e.what); a == nullptr || a->hold_end) {
                ++faults_;
            } else {
                a->hold_end = {e.held, e.loss, e.margin};
            }
        }
        call();
    }
    void heartbeat_answered(const heartbeat_answer& e) noexcept override
    {
        {
            const std::lock_guard lock{mutex_};
            beats_.push_back(e);
        }
        call();
    }

    void shard_began(const shard_start& e) noexcept override
    {
        {
            const std::lock_guard lock{mutex_};
            shard_gaps_.push_back(e.gap);
            faults_ += owned_[e.what.index]++ == 0 && e.what.path == shards ? 0 : 1;
        }
        call();
    }
    void shard_ended(const shard_end& e) noexcept override
    {
        {
            const std::lock_guard lock{mutex_};
            shard_ends_.push_back({std::string{e.what.name}, e.owned, e.lost, e.gap});
            faults_ += --owned_[e.what.index] == 0 && e.what.path == shards ? 0 : 1;
        }
        call();
    }

    struct shard_end_heard {
        std::string name;
        std::chrono::nanoseconds owned;
        bool lost;
        std::chrono::nanoseconds gap;
    };
    std::string shards; ///< The path of all that it hears of.
    [[nodiscard]] std::vector<std::chrono::nanoseconds> shard_gaps() const
    {
        const std::lock_guard lock{mutex_};
        return shard_gaps_;
    }
    [[nodiscard]] std::vector<shard_end_heard> shard_ends() const
    {
        const std::lock_guard lock{mutex_};
        return shard_ends_;
    }

    /// In the order in which they began.
    [[nodiscard]] std::vector<acquisition> all() const
    {
        const std::lock_guard lock{mutex_};
        std::vector<acquisition> found;
        for (const auto& [id, each] : all_) {
            found.push_back(each);
        }
        return found;
    }
    [[nodiscard]] acquisition last() const { return all().back(); }
    [[nodiscard]] std::vector<heartbeat_answer> beats() const
    {
        const std::lock_guard lock{mutex_};
        return beats_;
    }

    struct sums {
        std::uint64_t begun = 0, ended = 0, granted = 0, holds = 0, lost = 0;
        int faults = 0; // also a hold that ended and was not granted
        std::map<acquisition_outcome, std::uint64_t> by_outcome = {};
    };
    /// Without a multi_lock as a whole, which has no hold.
    [[nodiscard]] sums add_up() const
    {
        const std::lock_guard lock{mutex_};
        sums s;
        s.faults = faults_;
        for (const auto& [id, each] : all_) {
            if (each.kind == acquisition_kind::multi_lock) {
                continue;
            }
            const bool granted = each.end && each.end->outcome == acquisition_outcome::granted;
            ++s.begun;
            s.ended += each.end ? 1 : 0;
            s.granted += granted ? 1 : 0;
            s.holds += each.hold_end ? 1 : 0;
            s.lost += each.hold_end && each.hold_end->loss ? 1 : 0;
            s.faults += each.hold_end && !granted ? 1 : 0;
            s.faults += granted == (each.end && each.end->source == grant_source::none) ? 1 : 0;
            if (each.end) {
                ++s.by_outcome[each.end->outcome];
            }
        }
        return s;
    }

private:
    acquisition* find(const acquisition_info& what)
    {
        const auto at = all_.find(what.id);
        return at != all_.end() && at->second.path == what.path && at->second.kind == what.kind &&
                       at->second.shared == what.shared && at->second.part_of == what.part_of
                   ? &at->second
                   : nullptr;
    }
    void call() const
    {
        if (also) {
            also();
        }
    }

    mutable std::mutex mutex_;
    std::map<std::uint64_t, acquisition> all_;
    std::vector<heartbeat_answer> beats_;
    std::map<std::uint32_t, int> owned_;
    std::vector<std::chrono::nanoseconds> shard_gaps_;
    std::vector<shard_end_heard> shard_ends_;
    int faults_ = 0;
};

} // namespace colock::test

#endif
