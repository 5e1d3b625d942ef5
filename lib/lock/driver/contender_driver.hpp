// Runs one protocol::contender, or protocol::single_node, on a client: carries out its commands, feeds it the answers.
#pragma once

#include <colock/unique_lock.hpp>

#include "client/core.hpp"
#include "client/waiting_list.hpp"
#include "lock/driver/contenders_ahead.hpp"
#include "lock/driver/open_holds.hpp"
#include "lock/lease/lease.hpp"
#include "lock/lock_config.hpp"
#include "protocol/contender.hpp"
#include "protocol/remote_contention.hpp"
#include "protocol/repetition.hpp"
#include "protocol/single_node.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace colock::detail {

class contender_owner;

// On the strand, except where a function says otherwise. The client keeps it alive until its node is gone
// for good; guards keep it alive, too, but only to look at.
class contender_driver final : public session_listener,
                               public std::enable_shared_from_this<contender_driver> {
public:
    explicit contender_driver(std::shared_ptr<contender_owner> queue);

    // Joins the queue. The driver calls `after_create` right behind its create; at once if it cannot create now.
    void join(const std::function<void()>& after_create);
    // Takes the lock if nobody has it, for this one.
    void try_join(operation_ptr<error_code, unique_lock> op);
    void leave();
    // Leaves, because a user is done. The operation completes when the node is gone.
    void unlock(operation_ptr<error_code> op);
    // The operation of a cancelled waiter completes when the node is gone.
    void await_removal(operation_ptr<error_code, unique_lock> op);
    // The writer becomes a reader. The operation completes when it is one; an error says that it is not.
    void step_down(operation_ptr<error_code, unique_lock> op, std::uint64_t turn);
    void wait_lost(operation_ptr<error_code, error_code> op, std::uint64_t turn);
    // Until somebody asks for the node.
    void wait_revoked(operation_ptr<error_code> op, std::uint64_t turn);
    // A turn has ended, and with it what waits for its loss, or for somebody to ask for the node.
    void turn_over(std::uint64_t turn);
    // Whether remote contenders are in the queue: local_queue::met() tells.
    void look_around();

    // See protocol::contender::joins_behind().
    [[nodiscard]] bool joins_behind(const contender_driver& leaving);

    [[nodiscard]] bool is_revoked() const noexcept { return revoked_; }
    // Of its node, while it has one.
    [[nodiscard]] std::string_view own_name() const noexcept;

    // The answer to the command to list.
    void listed(const zk::reply& r, const protocol::contender::listing& l);

    void check() override; // whether the lock is safe still

    // ---- any thread

    [[nodiscard]] const std::shared_ptr<contender_owner>& queue() const noexcept { return queue_; }
    // These two are fixed once the lock is granted.
    [[nodiscard]] std::uint64_t czxid() const noexcept { return token_czxid_; }
    [[nodiscard]] const std::string& node() const noexcept { return node_; }
    // Whether operations wait for the end of a turn; then the queue calls turn_over().
    [[nodiscard]] bool is_turn_awaited() const noexcept { return turn_awaited_; }
    // Looks at the clock: for a guard.
    [[nodiscard]] error_code lost() const noexcept { return lost(boot_clock::now()); }
    [[nodiscard]] error_code lost(std::chrono::nanoseconds now) const noexcept
    {
        return lease_.lost(now);
    }
    // Somebody has deleted its node.
    void note_node_deleted() const noexcept { lease_.note_loss_and_check(errc::node_deleted); }
    // Until the lock counts as lost; negative when it does.
    [[nodiscard]] std::chrono::nanoseconds remaining(std::chrono::nanoseconds now) const noexcept
    {
        return lease_.remaining(now);
    }

    // Under the mutex of the queue.
    std::size_t users = 0; // who hold the lock by it
    bool was_idle = false; // nobody did when it was lost
    bool loss_counted = false;
    open_holds observed; // of the users

private:
    using command_kind = protocol::command::kind;
    struct watch_target;
    struct newcomer_target;

    void connected(std::int64_t session) override;
    void suspended() override;
    void expired() override;
    void closed(const error_code& why) override;
    void given_up(const error_code& why) override;
    void own_watch_due() override;
    void proved() override;
    void discarded() noexcept override;

    [[nodiscard]] bool enter();
    template <class Input>
    void feed(Input&& input);
    template <class Question>
    [[nodiscard]] auto ask(Question&& question) const
    {
        return std::visit(question, contender_);
    }
    [[nodiscard]] bool holds() const noexcept;
    [[nodiscard]] bool has_queue() const noexcept;
    [[nodiscard]] protocol::remote_contention contention() const noexcept;
    void claim();
    void perform(const protocol::command& c);
    void carry_out();
    [[nodiscard]] bool begin_pause();
    void end_pause();
    template <class Input>
    void feed_answer(command_kind to, const error_code& ec, Input&& input,
                     std::string_view watched = {});
    void make_directory();
    void create(const protocol::command& wanted);
    void create_and_count(const protocol::command& wanted);
    void run_after_create();
    void read_directory(command_kind as);
    [[nodiscard]] transaction_op write_signature(const protocol::command& wanted) const;
    void sign_directory(const protocol::command& wanted);
    void list();
    void look_at_node();
    void list_and_watch(command_kind as);
    void forget_newcomers();
    void watch(const protocol::node_name& name);
    void unwatch(const protocol::node_name& name);
    std::shared_ptr<watch_target> drop_target(const watch_target& target);
    void remove(const protocol::command& wanted);
    void remove_and_mark(const protocol::command& wanted);
    void remove_directory();
    void replace_by_readers_node(const protocol::command& wanted);
    void end_step_down(const error_code& ec);
    void granted();
    void lose(errc why);
    void announce_revocation();
    [[nodiscard]] bool is_held_by(std::uint64_t turn);
    void answer(const error_code& ec);
    void refuse(const error_code& ec, const std::string& why);
    [[nodiscard]] std::string about(std::string what) const
    {
        return "lock " + path() + ": " + what;
    }
    void end_turns();
    void end_await_removal();
    void update_heartbeat_need();
    void tell_of_blockers();
    bool refuse_margin();
    void gone(const error_code& ec);
    void note_refusal(const zk::reply& r);
    [[nodiscard]] std::string words_for(const error_code& ec) const;
    template <class Input>
    void submit(command_kind type, zk::call&& call, Input input);
    [[nodiscard]] const std::string& path() const noexcept { return config_->path; }
    [[nodiscard]] const lock_options& options() const noexcept { return config_->options; }
    [[nodiscard]] bool is_own_path(std::string_view text) const noexcept;
    [[nodiscard]] std::string child(std::string_view name) const;
    [[nodiscard]] const std::string& owner_data() const;
    [[nodiscard]] const access_control_list& acl() const;

    // The owner. A downgrade replaces it by the readers' owner, while no guard refers to this driver.
    std::shared_ptr<contender_owner> queue_;
    const lock_config_ptr config_;
    client_core& core_;
    const std::function<void()>* after_create_ = nullptr; // within join()
    std::variant<protocol::contender, protocol::single_node> contender_;
    std::int64_t claimed_czxid_ = 0; // as the queue was told
    protocol::commands commands_;    // being performed, or waiting for the end of a pause

    bool performing_ = false;
    bool paused_ = false;  // the first of `commands_` has had its pause
    bool over_ = false;    // gone, or the client is closed
    bool in_line_ = false; // as the client was told
    bool revoked_ = false; // somebody has asked for the node
    std::atomic<bool> turn_awaited_{false};

    // Runs while the driver holds back the first of `commands_`, because that repeats a failed request.
    std::shared_ptr<zk::timer> pause_;
    std::unique_ptr<protocol::backoff> pace_; // since the first repetition
    protocol::repetition repetition_;

    std::vector<std::shared_ptr<watch_target>> watches_;
    std::shared_ptr<newcomer_target> newcomers_; // until its watch fires

    operation_ptr<error_code, unique_lock> trying_;
    std::list<operation_ptr<error_code, unique_lock>> awaiting_removal_;
    operation_ptr<error_code> unlocking_;
    operation_ptr<error_code, unique_lock> stepping_down_;
    waiting_list<> waiting_for_revocation_;

    std::string missing_permission_; // of the last request that a server has refused: in words

    std::uint64_t token_czxid_ = 0;
    std::string node_;
    lease lease_;
};

} // namespace colock::detail
