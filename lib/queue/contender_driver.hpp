// Stands for one node in a queue: what users want of it, and what it comes to.
#pragma once

#include <colock/unique_lock.hpp>

#include "queue/contender_requests.hpp"
#include "queue/lease.hpp"
#include "queue/no_lock.hpp"
#include "queue/node_users.hpp"
#include "queue/remote_contention.hpp"
#include "queue/running_contender.hpp"
#include "report/contenders_ahead.hpp"
#include "session/waiting_list.hpp"

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <string>

namespace colock::detail {

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
        caught_up,    // with what nobody could post to the strand
    };

    kind what;
    protocol::remote_contention contention = protocol::remote_contention::unknown;
    contenders_ahead ahead = {};
    operation_ptr<error_code, unique_lock> op = {};
    error_code error = {};
    std::string why = {};
};

// Those whom a contender serves. What happens to it is all that it tells them.
class contender_user : public path_facts {
public:
    // On the strand, with no lock of the library held.
    virtual void happened(contender_driver& to, contender_event&& event) = 0;

protected:
    ~contender_user() = default;
};

// On the strand, except where a function says otherwise. The client keeps it alive until its node is gone
// for good; guards keep it alive, too, but only to look at.
class contender_driver final : public session_listener,
                               public std::enable_shared_from_this<contender_driver>,
                               public node_users { // of the user, under its mutex
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
    void serve(std::shared_ptr<contender_user> user) noexcept
    {
        contender_.use(*user);
        user_ = std::move(user);
    }

    [[nodiscard]] bool is_revoked() const noexcept { return requests_.own().is_asked_for(); }
    // See protocol::contender.
    [[nodiscard]] bool is_late() const noexcept { return contender_.is_late(); }
    // Of its node, while it has one.
    [[nodiscard]] std::string_view own_name() const noexcept { return contender_.own_name(); }

    // The data of its node, as far as they are its owner's.
    void keep_own_data(std::string_view data) { requests_.keep_own_data(data); }

    // The contender was given an answer to a request, or the event of a watch.
    void answered(const contender_requests::news& n);
    void check() override; // whether the lock is safe still
    void catch_up() override;

    // ---- any thread

    [[nodiscard]] const std::shared_ptr<contender_user>& user() const noexcept { return user_; }
    [[nodiscard]] client_core& core() const noexcept { return core_; }
    [[nodiscard]] const lock_config& config() const noexcept { return *config_; }
    [[nodiscard]] const std::string& path() const noexcept { return config_->path; }
    // These two are fixed once the lock is granted, but for a downgrade, during which no guard asks.
    [[nodiscard]] std::uint64_t czxid() const noexcept { return requests_.own().czxid(); }
    [[nodiscard]] const std::string& node() const noexcept { return requests_.own().path(); }
    // Whether operations wait for the end of a turn; then the user calls turn_over().
    [[nodiscard]] bool is_turn_awaited() const noexcept { return turn_awaited_; }
    // Looks at the clock: for a guard.
    [[nodiscard]] error_code lost(std::chrono::nanoseconds now = boot_clock::now()) const noexcept
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

private:
    using happens = contender_event::kind;

    // ---- of the session
    void connected(std::int64_t session) override;
    void suspended() override;
    void expired() override;
    void closed(const error_code& why) override;
    void given_up(const error_code& why) override;
    void own_watch_due() override;
    void proved() override;
    void discarded() noexcept override;

    // ---- of the contender
    template <class Input>
    void feed(Input&& input);
    void carry_out();
    void perform(const protocol::command& c);
    void end_pause();

    [[nodiscard]] bool enter();
    void end_step_down(const error_code& ec);
    void granted();
    void lose(errc why);
    void answer(const error_code& ec, const std::string& why = {});
    void refuse(const error_code& ec, const std::string& why);
    void end_turns();
    void end_await_removal();
    void update_heartbeat_need();
    bool refuse_margin();
    void answer_unlock(const error_code& ec);
    void gone(const error_code& ec);
    void tell(contender_event&& event) { user_->happened(*this, std::move(event)); }
    void met(protocol::remote_contention c) { tell({.what = happens::met, .contention = c}); }
    [[nodiscard]] unique_lock no_lock() const { return detail::no_lock(core_.shared_from_this()); }
    [[nodiscard]] std::string about(const std::string& what) const
    {
        return "lock " + path() + ": " + what;
    }

    // These share a word with the last ones of node_users.
    bool wanted_ = true;   // neither granted nor left yet
    bool in_line_ = false; // as the client was told
    std::atomic<bool> turn_awaited_{false};

    // Replaced by a downgrade, while no guard refers to this driver.
    std::shared_ptr<contender_user> user_;
    const lock_config_ptr config_;
    client_core& core_;
    lease lease_;
    running_contender contender_;
    contender_requests requests_;

    operation_ptr<error_code, unique_lock> trying_;
    std::list<operation_ptr<error_code, unique_lock>> awaiting_removal_;
    operation_ptr<error_code> unlocking_;
    operation_ptr<error_code, unique_lock> stepping_down_;
    waiting_list<> waiting_for_revocation_;
};

} // namespace colock::detail
