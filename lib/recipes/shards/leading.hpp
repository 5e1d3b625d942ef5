// The leader of the members: writes who shall own what.
#pragma once

#include <colock/group.hpp>
#include <colock/leadership.hpp>

#include "recipes/pauses.hpp"
#include "recipes/shards/leader.hpp"
#include "recipes/shards/places.hpp"
#include "recipes/strand_object.hpp"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::detail {

// One term of office; end() ends it.
class shards_leading final : public strand_object<shards_leading> {
public:
    shards_leading(std::shared_ptr<client_core> core, std::shared_ptr<const shards_config> config,
                   leadership term);

    void begin();
    void end();
    // The version of the assignment that this process has read as a member; none when there is no such node. What others have
    // written or deleted is replaced.
    void seen(std::optional<std::int32_t> version);

private:
    void read();
    void found(std::optional<protocol::shard_table> written);
    void go_on_from(protocol::shard_table written);
    void watch_members();
    void try_again(const error_code& ec, const std::string& why, std::string& told,
                   void (shards_leading::*what)());
    void decide();
    void decide_soon();
    void note_taken();
    void write(const protocol::shard_table& table);
    void written(const error_code& ec, std::int32_t version);
    void watch_moves();
    void look_at_move(protocol::shard_index shard);
    void look_at_first(protocol::shard_index shard, const std::string& node, watch&& changes);
    void await_directory(protocol::shard_index shard, const std::string& path);
    void await_change(protocol::shard_index shard, watch&& changes);
    void wake_at(protocol::shard_leader::time_point when);
    template <class... Results, class Then>
    [[nodiscard]] auto guarded(Then then);

    // A shard that has another owner by now, but perhaps not yet at its lock.
    struct move {
        std::int64_t first =
            0;         // the session that is the first in the lock's queue, as far as is known
        watch changes; // of that queue
        pauses pace;
    };

    const std::shared_ptr<const shards_config> config_;
    leadership term_;
    group group_;
    bool over_ = false;

    std::optional<protocol::shard_leader> leader_; // once the assignment was read
    std::optional<std::int32_t> version_;          // of its node; empty: there is none
    std::vector<member_view> members_;
    bool knows_members_ = false;
    diagnostics unread_;                          // why not
    std::string told_of_members_, told_of_table_; // the last causes in the log
    bool writing_ = false;
    bool decides_soon_ = false;
    bool is_damaged_ = false;                     // what is written
    std::map<protocol::shard_index, move> moves_; // those that are watched
    asio::steady_timer timer_;
    asio::cancellation_signal waiting_; // for the members
    pauses pace_;
};

} // namespace colock::detail
