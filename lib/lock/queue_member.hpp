// Runs one protocol::contender on a client: carries out its commands, feeds it the answers.
#pragma once

#include <colock/detail/deadline.hpp>
#include <colock/unique_lock.hpp>

#include "client/core.hpp"
#include "protocol/contender.hpp"

#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::detail {

// On the strand, except where a function says otherwise. The client keeps it alive until its node is gone
// for good; guards keep it alive, too, but only to look at.
class queue_member final : public session_listener,
                           public std::enable_shared_from_this<queue_member> {
public:
    // `path` is valid.
    queue_member(std::shared_ptr<client_core> core, std::string path, const lock_options& options);

    // Waits until the deadline; with `try_only` not even for a connection.
    void lock(operation_ptr<error_code, unique_lock> op, bool try_only, deadline until);

    // Leaves the queue, or releases the lock.
    void leave();
    void unlock(operation_ptr<error_code> op);
    void wait_lost(operation_ptr<error_code, error_code> op);

    // ---- any thread

    [[nodiscard]] const std::shared_ptr<client_core>& core() const noexcept { return core_; }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    // Fixed once the lock is granted.
    [[nodiscard]] fencing_token token() const noexcept { return token_; }
    [[nodiscard]] const std::string& node() const noexcept { return node_; }
    // Looks at the clock: for a guard.
    [[nodiscard]] error_code lost() const noexcept;
    // Until the lock counts as lost; negative when it does.
    [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;
    [[nodiscard]] const lock_options& options() const noexcept { return options_; }

private:
    struct watch_target;

    void connected(std::int64_t session) override;
    void suspended() override;
    void expired() override;
    void closed(const error_code& why) override;
    void given_up(const error_code& why) override;
    void reminded() override;
    void proved() override;
    void check() override;
    void discarded() noexcept override;

    template <class Input>
    void feed(Input&& input);
    void perform(const protocol::command& c);
    void make_directory();
    void create(const std::string& prefix);
    void list();
    void watch(const std::string& name);
    void unwatch(const std::string& name);
    std::shared_ptr<watch_target> drop_target(const watch_target& target);
    void remove(const std::string& name);
    void granted();
    void lose(errc why);
    void answer(const error_code& ec);
    void deadline_reached();
    void rely();
    bool refuse_lead();
    void gone(const error_code& ec);
    template <class Answer>
    void submit(zk::call call, Answer answer);
    void cancel(asio::cancellation_type type);
    [[nodiscard]] std::string child(const std::string& name) const;

    const std::shared_ptr<client_core> core_;
    const std::string path_;
    const lock_options options_;
    protocol::contender contender_;
    protocol::commands commands_; // being performed
    bool performing_ = false;
    bool trying_ = false;
    bool granted_ = false;
    bool over_ = false;    // gone, or the client is closed
    bool in_line_ = false; // as the client was told
    bool holding_ = false; // likewise
    std::vector<std::shared_ptr<watch_target>> watches_;

    operation_ptr<error_code, unique_lock> locking_;
    std::optional<asio::steady_timer> deadline_timer_; // of `locking_`
    operation_ptr<error_code> unlocking_;
    std::list<operation_ptr<error_code, error_code>> waiting_for_loss_;
    bool cancelled_ = false; // and `locking_` completes when no trace is left

    fencing_token token_;
    std::string node_;
    mutable std::atomic<int> lost_{0}; // an errc; whoever sees it first sets it
    bool loss_told_ = false;
};

} // namespace colock::detail
