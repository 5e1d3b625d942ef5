// This process as a member that owns shards: one async_run.
#pragma once

#include <colock/election.hpp>
#include <colock/group.hpp>
#include <colock/shards.hpp>
#include <colock/shared_mutex.hpp>

#include "names/kinds.hpp"
#include "recipes/shards/leading.hpp"
#include "recipes/shards/work.hpp"
#include "session/borrowed_client.hpp"
#include "session/core.hpp"
#include "session/pauses.hpp"
#include "session/waiting_list.hpp"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace colock::detail {

class shards_run;

// The runs of one path in one client, where only one may be: two would have one place in the queue of each lock, so that
// neither would see that the other waits.
class shards_in_client final : public path_entry {
public:
    shards_in_client(std::shared_ptr<client_core> core, std::string path)
        : core_{std::move(core)}, path_{std::move(path)}
    {
    }
    shards_in_client(const shards_in_client&) = delete;
    shards_in_client& operator=(const shards_in_client&) = delete;
    ~shards_in_client() override { core_->forget_path(path_); }

    [[nodiscard]] const lock_kind& kind() const noexcept override { return kinds::shards; }
    [[nodiscard]] const lock_options& options() const noexcept override { return none_; }

    std::weak_ptr<shards_run> run; // on the strand

private:
    const std::shared_ptr<client_core> core_;
    const std::string path_;
    const lock_options none_;
};

// On the strand. What is under way keeps it alive.
//
// A member holds `use` with all others of the same definition, as long as it may hold a shard. When it loses that, as it does
// with its session, it ends all bodies, and begins anew.
class shards_run final : public std::enable_shared_from_this<shards_run> {
public:
    shards_run(std::shared_ptr<client_core> core, std::shared_ptr<shards_in_client> place,
               std::shared_ptr<const shards_config> config, std::shared_ptr<shard_bodies> bodies,
               operation_ptr<std::exception_ptr> op);

    void start();
    void leave(operation_ptr<error_code> op, deadline limit);
    [[nodiscard]] bool is_over() const noexcept { return !op_; }

private:
    // Becoming a member, one after the other
    void begin();
    [[nodiscard]] shared_mutex use(); // see above
    void read_definition();
    void compare(std::string_view written);
    void redefine();
    void join();
    void watch_membership();
    void stand();
    void watch_table();
    void read_after_sync();
    void take_table(std::string_view text, bool confirmed);

    void work_says(shard_work::event&& e);
    void tell_weight();
    void end_if_without();

    // The end
    void cancel();
    void fail(const error_code& ec, const std::string& what);
    void end(std::exception_ptr why);
    void depart();
    void over();

    // A handler on the strand; and one of what the beginning or the end waits for.
    template <class... Results, class Then>
    [[nodiscard]] auto on_strand(Then then);
    template <class... Results, class Then>
    [[nodiscard]] auto step(Then then);

    const std::shared_ptr<client_core> core_;
    borrowed_client client_{core_};
    const std::shared_ptr<shards_in_client> place_;
    const std::shared_ptr<const shards_config> config_;
    const std::shared_ptr<shard_bodies> bodies_;
    operation_ptr<std::exception_ptr> op_;

    shared_lock using_;
    membership here_;
    std::shared_ptr<shards_leading> leading_;
    std::shared_ptr<shard_work> work_; // while it is a member
    std::vector<protocol::shard_index> refused_;
    watch table_changes_;
    pauses pace_;

    enum class stage {
        member,  // or about to be one
        leaving, // hands its shards on
        over,    // ends all bodies, and completes
    };
    stage stage_ = stage::member;
    std::exception_ptr why_;
    waiting_list<> leaving_;
    asio::cancellation_signal step_;
    asio::cancellation_signal standing_; // for election
    asio::steady_timer limit_;           // of leaving
};

} // namespace colock::detail
