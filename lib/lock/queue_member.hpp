// Runs one protocol::contender on a client: carries out its commands, feeds it the answers.
#pragma once

#include <colock/unique_lock.hpp>

#include "client/core.hpp"
#include "protocol/contender.hpp"

#include <atomic>
#include <memory>
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

    void lock(operation_ptr<error_code, unique_lock> op, bool try_only);

    // Leaves the queue, or releases the lock.
    void leave();
    void unlock(operation_ptr<error_code> op);

    // ---- any thread

    [[nodiscard]] const std::shared_ptr<client_core>& core() const noexcept { return core_; }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    // Fixed once the lock is granted.
    [[nodiscard]] fencing_token token() const noexcept { return token_; }
    [[nodiscard]] const std::string& node() const noexcept { return node_; }
    [[nodiscard]] error_code lost() const noexcept;

private:
    struct watch_target;

    void connected(std::int64_t session) override;
    void suspended() override;
    void expired() override;
    void closed(const error_code& why) override;
    void given_up(const error_code& why) override;
    void reminded() override;
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
    void gone(const error_code& ec);
    template <class Answer>
    void submit(zk::call call, Answer answer);
    void cancel(asio::cancellation_type type);
    [[nodiscard]] std::string child(const std::string& name) const;

    const std::shared_ptr<client_core> core_;
    const std::string path_;
    const access_control_list acl_;
    const std::string owner_data_;
    protocol::contender contender_;
    protocol::commands commands_; // being performed
    bool performing_ = false;
    bool trying_ = false;
    bool granted_ = false;
    bool over_ = false; // gone, or the client is closed
    std::vector<std::shared_ptr<watch_target>> watches_;

    operation_ptr<error_code, unique_lock> locking_;
    operation_ptr<error_code> unlocking_;
    bool cancelled_ = false; // and `locking_` completes when no trace is left

    fencing_token token_;
    std::string node_;
    std::atomic<int> lost_{0}; // an errc
};

} // namespace colock::detail
