// Stands for one node in a queue: what users want of it, and what it comes to.
#pragma once

#include <colock/unique_lock.hpp>

#include "queue/contender_requests.hpp"
#include "queue/lease.hpp"
#include "queue/no_lock.hpp"
#include "queue/running_contender.hpp"
#include "report/open_holds.hpp"
#include "session/waiting_list.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>

namespace colock::detail {

class contender_driver;

// Those whom a contender serves. What happens to it is all that it tells them; what it needs of them is here. On the strand, with
// no lock of the library held.
class contender_user {
public:
    virtual void connected(contender_driver& by) = 0; // the client, again
    // Who is before it was looked at; while `listens`.
    virtual void blocked(contender_driver& by, contenders_ahead&& ahead) = 0;
    // What is known of contenders of other clients.
    virtual void met(contender_driver& by, protocol::remote_contention c) = 0;
    // The lock: for `op`, whose caller tried; without it, for those who wait.
    virtual void granted(contender_driver& by, operation_ptr<error_code, unique_lock> op) = 0;
    virtual void failed(contender_driver& by, const error_code& ec, const std::string& why) = 0;
    virtual void revoked(contender_driver& by) = 0; // another client asks for its node
    // The lock is a reader's now.
    virtual void stepped_down(contender_driver& by, operation_ptr<error_code, unique_lock> op) = 0;
    virtual void lost(contender_driver& by) = 0;
    // The client: whoever waits fails.
    virtual void closed(const error_code& ec, const std::string& why) = 0;
    // The client, without a word: whoever waits is destroyed.
    virtual void discarded() noexcept = 0;
    // Whether the turn holds the lock by it.
    [[nodiscard]] virtual bool holds(const contender_driver& by, std::uint64_t turn) = 0;

    std::atomic<bool> listens{false}; // to blocked()
    claimed_nodes claimed;

protected:
    ~contender_user() = default;
};

// On the strand, except where a function says otherwise. The client keeps it alive until its node is gone
// for good; guards keep it alive, too, but only to look at.
class contender_driver final : public session_listener, public contender_owner {
public:
    // `shared`: its users hold the lock together. `lingers`: the node is kept for a while that nobody uses.
    contender_driver(client_core& core, lock_config_ptr config, bool shared, bool lingers,
                     std::shared_ptr<contender_user> user);
    [[nodiscard]] std::shared_ptr<contender_driver> shared_from_this()
    {
        return std::static_pointer_cast<contender_driver>(contender_owner::shared_from_this());
    }

    // Joins the queue. `after_create` is called once, in any case: its requests follow the create, and precede what the
    // contender asks next.
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
    // For the loss of a turn. From here on the end of one has to be told: turn_over().
    void wait_lost(operation_ptr<error_code, error_code> op, std::uint64_t turn);
    // Until somebody asks for the node.
    void wait_revoked(operation_ptr<error_code> op, std::uint64_t turn);
    // A turn has ended, and with it what waits for its loss, or for somebody to ask for the node.
    void turn_over(std::uint64_t turn);
    // Whether remote contenders are in the queue: contender_user::met() tells.
    void look_around()
    {
        contender_.feed(
            [](protocol::contender& c, protocol::commands& out) { return c.look_around(out); });
    }
    // It belongs to other users from now on.
    void serve(std::shared_ptr<contender_user> user) noexcept { user_ = std::move(user); }

    [[nodiscard]] auto contention() const noexcept { return contender_.contention(); }
    [[nodiscard]] bool is_revoked() const noexcept { return requests_.own().is_asked_for(); }
    // See protocol::contender.
    [[nodiscard]] bool is_late() const noexcept { return contender_.is_late(); }
    // Of its node, while it has one.
    [[nodiscard]] std::string_view own_name() const noexcept { return contender_.own_name(); }

    // The data of its node, as far as they are its owner's.
    void keep_own_data(std::string_view data) { requests_.keep_own_data(data); }

    void check() override; // whether the lock is safe still

    // ---- any thread

    [[nodiscard]] const std::shared_ptr<contender_user>& user() const noexcept { return user_; }
    [[nodiscard]] client_core& core() const noexcept { return lease_.core(); }
    [[nodiscard]] const lock_config& config() const noexcept override { return *config_; }
    [[nodiscard]] const std::string& path() const noexcept { return config_->path; }
    // These two are fixed once the lock is granted.
    [[nodiscard]] std::uint64_t czxid() const noexcept { return requests_.own().czxid(); }
    [[nodiscard]] const std::string& node() const noexcept { return requests_.own().path(); }
    // Whether operations wait for the end of a turn; then the user calls turn_over().
    [[nodiscard]] bool is_turn_awaited() const noexcept { return turn_awaited_; }
    // Looks at the clock: for a guard.
    [[nodiscard]] error_code lost(std::chrono::nanoseconds now = boot_clock::now()) const noexcept
    {
        return lease_.lost(now);
    }
    [[nodiscard]] const lease& loss() const noexcept override { return lease_; }

    // Of the user, under its mutex.
    std::size_t users = 0; // who hold the lock by it
    open_holds observed;   // of the users
    bool was_idle = false; // nobody did when it was lost
    bool loss_counted = false;

private:
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
    void carry_out(const protocol::command& c) override;
    void carried_out() override;
    void met(protocol::remote_contention c) override { user_->met(*this, c); }
    void asked_for_node() override;
    [[nodiscard]] bool listens() const noexcept override { return user_->listens; }
    [[nodiscard]] claimed_nodes& claimed() const noexcept override { return user_->claimed; }

    [[nodiscard]] bool enter();
    void end_step_down(const error_code& ec);
    void granted();
    void lose(errc why);
    void answer(const error_code& ec, const std::string& why = {});
    void refuse(const error_code& ec, const std::string& why);
    [[nodiscard]] auto about(const std::string& s) const { return "lock " + path() + ": " + s; }
    void end_turns();
    void end_await_removal();
    void update_heartbeat_need();
    bool refuse_margin();
    void answer_unlock(const error_code& ec);
    void gone(const error_code& ec);
    [[nodiscard]] auto no_lock() const { return detail::no_lock(core().shared_from_this()); }

    // These share a word with the two before.
    bool wanted_ = true;   // neither granted nor left yet
    bool in_line_ = false; // as the client was told
    std::atomic<bool> turn_awaited_{false};

    // Replaced by a downgrade, while no guard refers to this driver.
    std::shared_ptr<contender_user> user_;
    const lock_config_ptr config_;
    lease lease_;
    running_contender contender_;
    contender_requests requests_;

    const std::function<void()>* after_create_ = nullptr; // within join()

    operation_ptr<error_code, unique_lock> trying_;
    std::list<operation_ptr<error_code, unique_lock>> awaiting_removal_;
    operation_ptr<error_code> unlocking_;
    operation_ptr<error_code, unique_lock> stepping_down_;
    waiting_list<> waiting_for_revocation_;
};

} // namespace colock::detail
