// This process as a member that owns shards: one async_run.
#pragma once

#include <colock/election.hpp>
#include <colock/group.hpp>
#include <colock/shards.hpp>
#include <colock/shared_mutex.hpp>

#include "names/kinds.hpp"
#include "recipes/pauses.hpp"
#include "recipes/shards/entry.hpp"
#include "recipes/shards/leading.hpp"
#include "recipes/shards/work.hpp"
#include "recipes/strand_object.hpp"
#include "session/core.hpp"
#include "session/waiting_list.hpp"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <exception>
#include <memory>
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

// A member holds `use` with all others of the same definition, as long as it may hold a shard. When it loses that, as it does
// with its session, it ends all bodies, and begins anew.
class shards_run final : public strand_object<shards_run> {
public:
    shards_run(std::shared_ptr<client_core> core, std::shared_ptr<shards_in_client> place,
               std::shared_ptr<const shards_config> config, std::shared_ptr<shard_bodies> bodies,
               operation_ptr<std::exception_ptr> op);

    void start();
    void leave(operation_ptr<error_code> op, deadline limit);
    [[nodiscard]] bool is_over() const noexcept { return !op_; }

private:
    // Becoming a member, as entry_ decides
    using entry = protocol::shard_entry;

    void go_on(entry::command c);
    void share();
    void lock_alone();
    void replace(unique_lock held);
    void read_definition();
    void create_definition();
    void refuse_definition();
    void join();
    [[nodiscard]] shared_mutex use(); // see above
    void watch_membership();
    void stand();
    void watch_table();
    void read_table();
    void read_after_sync();
    void take_table(std::string_view text, bool confirmed);

    void work_says(shard_work::event&& e);
    void tell_weight();
    void end_if_without();

    // The end
    void cancel();
    void refuse(errc ec, const std::string& why);
    void fail(const error_code& ec, const std::string& what);
    void end(std::exception_ptr why);
    void stop_work();
    void depart();
    void over();

    // For the steps until it is a member: a handler, and a call after a pause. When the run is over they depart instead.
    template <class... Results, class Then>
    [[nodiscard]] auto step(Then then);
    template <class Then>
    void after_pause(Then then);
    // Both are for this membership alone: a handler, and a step after a pause.
    template <class... Results, class Then>
    [[nodiscard]] auto while_at_work(Then then);
    [[nodiscard]] auto if_at_work(void (shards_run::*then)());

    const std::shared_ptr<shards_in_client> place_;
    const std::shared_ptr<const shards_config> config_;
    const std::shared_ptr<shard_bodies> bodies_;
    operation_ptr<std::exception_ptr> op_;

    entry entry_;
    std::string written_; // the definition that was read last
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
