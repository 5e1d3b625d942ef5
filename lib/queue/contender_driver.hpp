// Runs one protocol::contender, or protocol::single_node, on a client: carries out its commands, feeds it the answers.
#pragma once

#include <colock/unique_lock.hpp>

#include "queue/contender.hpp"
#include "queue/lease.hpp"
#include "queue/lock_config.hpp"
#include "queue/remote_contention.hpp"
#include "queue/repetition.hpp"
#include "queue/single_node.hpp"
#include "report/contenders_ahead.hpp"
#include "report/open_holds.hpp"
#include "session/core.hpp"
#include "session/machine_runner.hpp"
#include "session/pacer.hpp"
#include "session/waiting_list.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace colock::detail {

class contender_driver;

// What becomes of a contender.
struct contender_event {
    enum class kind {
        connected,    // the client, again
        blocked,      // `ahead` has been looked at; while its user listens
        met,          // `contention` with contenders of other clients is known
        granted,      // the lock: for `op`, whose caller tried; without it, for those who wait
        failed,       // instead: `error` and `why`
        revoked,      // another client asks for its node
        stepped_down, // the lock is a reader's now: for `op`
        lost,         // the lock
        closed,       // the client: whoever waits fails with `error` and `why`
        discarded,    // the client, without a word: whoever waits is destroyed
    };

    kind what;
    protocol::remote_contention contention = protocol::remote_contention::unknown;
    contenders_ahead ahead = {};
    operation_ptr<error_code, unique_lock> op = {};
    error_code error = {};
    std::string why = {};
};

// The nodes of a single_node_mutex that contenders of this client know to be theirs, by czxid; 0 is none. Their name
// does not tell whose they are.
class own_nodes {
public:
    void replace(std::int64_t before, std::int64_t now)
    {
        if (before == now) {
            return;
        }
        std::erase(nodes_, before);
        if (now != 0) {
            nodes_.push_back(now);
        }
    }
    [[nodiscard]] bool contains(std::int64_t czxid) const noexcept
    {
        return std::ranges::find(nodes_, czxid) != nodes_.end();
    }
    [[nodiscard]] bool empty() const noexcept { return nodes_.empty(); }

private:
    std::vector<std::int64_t> nodes_;
};

// Those whom a contender serves. What happens to it is all that it tells them; what it needs of them is here.
class contender_user {
public:
    // On the strand, with no lock of the library held.
    virtual void happened(contender_driver& to, contender_event&& event) = 0;

    std::atomic<bool> listens{false}; // to contender_event::kind::blocked
    own_nodes claimed;                // on the strand

protected:
    ~contender_user() = default;
};

// On the strand, except where a function says otherwise. The client keeps it alive until its node is gone
// for good; guards keep it alive, too, but only to look at.
class contender_driver final : public session_listener,
                               public std::enable_shared_from_this<contender_driver> {
public:
    // `shared`: its users hold the lock together. `lingers`: the node is kept for a while that nobody uses.
    contender_driver(client_core& core, lock_config_ptr config, bool shared, bool lingers,
                     std::shared_ptr<contender_user> user);

    // Joins the queue, in two steps. Requests that have to follow its create, and precede what it asks next, are made between
    // them.
    void join();
    void go_on();
    // Takes the lock if nobody has it, for this one.
    void try_join(operation_ptr<error_code, unique_lock> op);
    void leave();
    // Leaves, because a user is done. The operation completes when the node is gone.
    void unlock(operation_ptr<error_code> op);
    // The operation of a cancelled waiter completes when the node is gone.
    void await_removal(operation_ptr<error_code, unique_lock> op);
    // The writer becomes a reader. The operation completes when it is one; an error says that it is not.
    void step_down(operation_ptr<error_code, unique_lock> op, std::uint64_t turn);
    // From here on the end of a turn has to be told: turn_over().
    void await_turns() noexcept { turn_awaited_ = true; }
    // `held`: whether the turn holds the lock.
    void wait_lost(operation_ptr<error_code, error_code> op, std::uint64_t turn, bool held);
    // Until somebody asks for the node.
    void wait_revoked(operation_ptr<error_code> op, std::uint64_t turn, bool held);
    // A turn has ended, and with it what waits for its loss, or for somebody to ask for the node.
    void turn_over(std::uint64_t turn);
    // Whether remote contenders are in the queue: contender_event::kind::met tells.
    void look_around();
    // It belongs to other users from now on.
    void serve(std::shared_ptr<contender_user> user) noexcept { user_ = std::move(user); }

    [[nodiscard]] bool is_revoked() const noexcept { return revoked_; }
    // See protocol::contender.
    [[nodiscard]] bool is_late() const noexcept;
    // Of its node, while it has one.
    [[nodiscard]] std::string_view own_name() const noexcept;

    // The data of its node, as far as they are its owner's.
    void keep_own_data(std::string_view data);

    void check() override; // whether the lock is safe still

    // ---- any thread

    [[nodiscard]] const std::shared_ptr<contender_user>& user() const noexcept { return user_; }
    [[nodiscard]] client_core& core() const noexcept { return core_; }
    [[nodiscard]] const lock_config& config() const noexcept { return *config_; }
    [[nodiscard]] const std::string& path() const noexcept { return config_->path; }
    // These two are fixed once the lock is granted.
    [[nodiscard]] std::uint64_t czxid() const noexcept { return token_czxid_; }
    [[nodiscard]] const std::string& node() const noexcept { return node_; }
    // Whether operations wait for the end of a turn; then the user calls turn_over().
    [[nodiscard]] bool is_turn_awaited() const noexcept { return turn_awaited_; }
    // Looks at the clock: for a guard.
    [[nodiscard]] error_code lost() const noexcept { return lost(boot_clock::now()); }
    [[nodiscard]] error_code lost(std::chrono::nanoseconds now) const noexcept
    {
        return lease_.lost(now);
    }
    [[nodiscard]] const lease& loss() const noexcept { return lease_; }
    // Somebody has deleted its node.
    void note_node_deleted() const noexcept { lease_.note_loss_and_check(errc::node_deleted); }
    // Until the lock counts as lost; negative when it does.
    [[nodiscard]] std::chrono::nanoseconds remaining(std::chrono::nanoseconds now) const noexcept
    {
        return lease_.remaining(now);
    }

    // Of the user, under its mutex.
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

    void begin_to_join();
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
    [[nodiscard]] performed carry_out(protocol::command& c);
    [[nodiscard]] bool begin_pause(protocol::repetition::cause why);
    void end_pause();
    template <class Input>
    void feed_answer(const error_code& ec, Input&& input);
    template <class Input>
    void feed_follows(Input&& input);
    void make_directory();
    void create(const protocol::command& wanted);
    void read_directory(const protocol::command& wanted);
    void list();
    void look_at_node();
    void list_and_watch(command_kind as);
    void forget_newcomers();
    void watch(const protocol::node_name& name);
    void write_own_data_back(std::int32_t version);
    void unwatch(const protocol::node_name& name);
    std::shared_ptr<watch_target> drop_target(const watch_target& target);
    void remove(const protocol::command& wanted);
    void remove_directory();
    void replace_by_readers_node(const protocol::command& wanted);
    void end_step_down(const error_code& ec);
    void granted();
    void lose(errc why);
    void announce_revocation();
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
    void answer_unlock(const error_code& ec);
    void gone(const error_code& ec);
    void note_refusal(const zk::reply& r);
    [[nodiscard]] std::string words_for(const error_code& ec) const;
    void show(protocol::contender& c, const error_code& ec, const protocol::contender::listing& l,
              protocol::commands& out);
    template <class Input>
    void submit(zk::call&& call, Input input, std::size_t room_kept = 0);
    [[nodiscard]] std::size_t room_to_step_down() const noexcept;
    void tell(contender_event::kind what) { user_->happened(*this, {.what = what}); }
    void tell(protocol::remote_contention c)
    {
        user_->happened(*this, {.what = contender_event::kind::met, .contention = c});
    }
    [[nodiscard]] unique_lock no_lock() const;
    [[nodiscard]] const lock_options& options() const noexcept { return config_->options; }
    [[nodiscard]] std::string child(std::string_view name) const;
    [[nodiscard]] const std::string& owner_data() const;
    [[nodiscard]] const access_control_list& acl() const;

    // Replaced by a downgrade, while no guard refers to this driver.
    std::shared_ptr<contender_user> user_;
    const lock_config_ptr config_;
    client_core& core_;
    std::variant<protocol::contender, protocol::single_node> contender_;
    std::int64_t claimed_czxid_ = 0; // as the user knows
    machine_runner<protocol::command> runner_;

    bool joining_ = false;   // between join() and go_on()
    bool has_begun_ = false; // to join
    bool wanted_ = true;     // neither granted nor left yet
    bool paused_ = false;    // the first command has had its pause
    bool over_ = false;      // gone, or the client is closed
    bool in_line_ = false;   // as the client was told
    bool revoked_ = false;   // somebody has asked for the node
    std::atomic<bool> turn_awaited_{false};

    // Runs while the driver holds back the first command, because that repeats a failed request.
    std::shared_ptr<zk::timer> pause_;
    std::unique_ptr<protocol::pacer> pace_; // since the first repetition
    protocol::repetition repetition_;

    std::vector<std::shared_ptr<watch_target>> watches_;
    std::shared_ptr<newcomer_target> newcomers_; // until its watch fires

    operation_ptr<error_code, unique_lock> trying_;
    std::list<operation_ptr<error_code, unique_lock>> awaiting_removal_;
    operation_ptr<error_code> unlocking_;
    operation_ptr<error_code, unique_lock> stepping_down_;
    waiting_list<> waiting_for_revocation_;

    std::unique_ptr<const std::string> own_data_; // of its node, where they are not owner_data()
    struct refusal {
        error_code error;
        std::string words;
    };
    std::unique_ptr<const refusal> refused_; // the last one that has words of its own

    std::int32_t directory_version_ = 0; // of its data, when it was looked at
    std::uint64_t token_czxid_ = 0;
    std::string node_;
    lease lease_;
};

} // namespace colock::detail
