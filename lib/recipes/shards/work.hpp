// What a member does for its shards: locks, bodies, preparations, and looks at the locks' queues.
#pragma once

#include <colock/observer.hpp>
#include <colock/shards.hpp>

#include "recipes/pauses.hpp"
#include "recipes/shards/member.hpp"
#include "recipes/shards/places.hpp"
#include "recipes/shards/preparation.hpp"
#include "recipes/strand_object.hpp"
#include "session/machine_runner.hpp"
#include "zk/entropy.hpp"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

namespace colock::detail {

// Carries out what protocol::shard_member decides.
class shard_work final : public strand_object<shard_work> {
public:
    // What its owner is told.
    struct event {
        enum class kind {
            confirm, // read the assignment after a sync, and call assigned()
            refused, // the shards of refused() shall go to others
            failed,  // a body has ended, or a lock cannot be had: end all. `why` may be empty
            idle,    // nothing is held or under way
        };
        kind what;
        std::exception_ptr why = {};
    };

    shard_work(std::shared_ptr<client_core> core, std::shared_ptr<const shards_config> config,
               std::shared_ptr<shard_bodies> bodies, std::vector<protocol::shard_index> refused,
               std::weak_ptr<const void> owner, std::function<void(event)> tell);

    void assigned(protocol::shard_owners owners, bool confirmed);
    // Ends everything; then `idle` comes, perhaps from within.
    void stop();

    [[nodiscard]] bool is_stopped() const noexcept { return stopped_; }
    // It has nothing, and shall have nothing.
    [[nodiscard]] bool is_without() const noexcept
    {
        return machine_.is_idle() && machine_.is_settled();
    }
    [[nodiscard]] const std::vector<protocol::shard_index>& refused() const noexcept
    {
        return refused_;
    }

private:
    using command = protocol::shard_member::command;
    using shard_index = protocol::shard_index;

    // One shard, while something is under way for it.
    struct part {
        explicit part(const asio::any_io_executor& client, const asio::any_io_executor& bodies);

        // Of the lock and the body. The signal belongs to it, because the body may run anywhere.
        const asio::any_io_executor strand;
        asio::cancellation_signal stop;
        std::shared_ptr<preparation> preparing; // the last one
        asio::steady_timer timer;               // the pause before the shard is taken again
        watch queue;                            // of the lock
        pauses pace;
        // When the look began (boot_clock) by which the lock was free; 0 if it was not.
        std::chrono::nanoseconds free{0};
        unsigned restarts = 0;
        std::uint64_t turn = 0;
        std::optional<std::chrono::nanoseconds> since; // then it was granted the lock in this turn
        std::optional<std::chrono::nanoseconds> stopped; // then it was told to end
        bool runs = false;                               // a turn is under way
        bool watches = false;                            // the lock's queue
        bool is_pausing = false; // before the machine is told that a turn is over
    };

    template <class Input>
    void feed(Input&& input);
    void perform(const command& c);
    void look(shard_index shard);
    void prepare(shard_index shard);
    void take(shard_index shard, bool prepares);
    void stop_preparing(shard_index shard);
    void prepared(shard_index shard, const std::exception_ptr& e);
    [[nodiscard]] shard_info info_of(shard_index shard) const;
    void report_end(shard_index shard, bool lost);
    void end_pause(shard_index shard);
    void turn_over(shard_index shard, std::exception_ptr e, bool body_threw);
    std::chrono::nanoseconds body_over(shard_index shard, std::exception_ptr e);
    void end(shard_index shard);
    void ended_after(shard_index shard, std::chrono::nanoseconds pause);
    void watch_queue(shard_index shard);
    void look_at_queue(shard_index shard);
    [[nodiscard]] part& at(shard_index shard);

    const std::shared_ptr<const shards_config> config_;
    const std::shared_ptr<shard_bodies> bodies_;
    const std::weak_ptr<const void>
        owner_; // turns and preparations keep it: it waits for their end
    const std::function<void(event)> tell_;
    protocol::shard_member machine_;
    machine_runner<command> runner_;
    std::map<shard_index, std::shared_ptr<part>> parts_;
    std::vector<shard_index> refused_; // ascending
    std::minstd_rand random_{zk::random_seed()};
    bool stopped_ = false;
    bool is_idle_ = false; // as was told
};

} // namespace colock::detail
