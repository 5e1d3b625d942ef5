// What a member of the group does with each shard. Sans-io.
#pragma once

#include "recipes/shards/assignment.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace colock::protocol {

// An assignment is a hint: who owns a shard holds its lock. A member takes what the assignment gives to it, and gives up what
// it gives to another member, once somebody waits for the lock and the assignment that was read after that still says so. So
// a stale assignment, or somebody who locks a shard by hand, takes nothing away.
class shard_member {
public:
    struct command {
        enum class kind : std::uint8_t {
            look,           // looked(): does anybody hold the lock, or wait for it?
            prepare,        // prepared(), at the limit for it at the latest
            stop_preparing, // the same, but soon
            lock,           // then run the body: began(), and ended() when the lock is released
            lock_first,     // the same, and prepare between the two
            end,            // the wait, or the body: ended()
            watch,          // contended() when somebody waits for the lock
            unwatch,
            confirm, // assigned() with what was read after a sync
        };
        kind type;
        shard_index shard = 0; // of all but `confirm`

        bool operator==(const command&) const = default;
    };
    using commands = std::vector<command>;

    shard_member(std::string name, std::size_t shards, bool prepares);

    // `confirmed`: as command::kind::confirm has asked.
    void assigned(const shard_owners& owners, bool confirmed, commands& out);
    void looked(shard_index shard, bool is_free, commands& out);
    void prepared(shard_index shard, commands& out);
    void began(shard_index shard);
    void contended(shard_index shard, commands& out);
    // The lock is released, or was lost, or could not be had.
    void ended(shard_index shard, commands& out);
    // It does not want the shard, whatever the present assignment says.
    void refuse(shard_index at) noexcept { shards_[at].mine = false; }
    // Ends everything, and begins nothing more.
    void stop(commands& out);

    // Whether the assignment gives it to this member.
    [[nodiscard]] bool wants(shard_index at) const noexcept { return shards_[at].mine; }
    // Nothing is held or under way.
    [[nodiscard]] bool is_idle() const noexcept;
    // Holds what the assignment gives to it, and nothing else.
    [[nodiscard]] bool is_settled() const noexcept;

    // Equal for equal objects, and for no others: for the model, which walks through all states.
    [[nodiscard]] std::string fingerprint() const;

private:
    enum class state : std::uint8_t {
        absent,
        looking,
        preparing,
        stopping,   // to prepare
        queued,     // for the lock
        running,    // the body, and what prepares it under the lock
        yielding,   // running; the shard is another member's, who does not wait for it yet
        contended,  // the same, and somebody waits; the next confirmation tells
        confirming, // the one under way does
        ending,
    };
    struct shard {
        state is = state::absent;
        bool mine = false;
    };

    void want(shard_index at, commands& out);
    void leave(shard_index at, bool to_somebody, bool confirmed, commands& out);
    void end(shard_index at, commands& out);
    void confirm_next(commands& out);

    std::string name_;
    bool prepares_;
    bool stopped_ = false;
    bool confirming_ = false;
    std::vector<shard> shards_;
};

} // namespace colock::protocol
