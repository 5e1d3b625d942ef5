// The node of a member: this process's name in a group.
#pragma once

#include <colock/group.hpp>
#include <colock/single_node_mutex.hpp>

#include "recipes/group/member_text.hpp"
#include "recipes/pauses.hpp"
#include "recipes/strand_object.hpp"
#include "session/core.hpp"
#include "session/waiting_list.hpp"

#include <boost/asio/cancellation_signal.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace colock::detail {

// A member holds the single_node_mutex that has its name: so nobody else has it, and the loss is told. On the strand, except
// where a function says otherwise. What is under way keeps it alive.
class member_node final : public session_listener, public strand_object<member_node> {
public:
    static void join(const std::shared_ptr<client_core>& core,
                     operation_ptr<error_code, membership> op, std::string path,
                     member_options options);
    member_node(std::shared_ptr<client_core> core, std::string path, member_options options);

    void update(operation_ptr<error_code> op, std::string data, std::uint32_t weight);
    void wait_rejoin(operation_ptr<error_code, std::uint64_t> op, std::uint64_t seen);
    void leave(operation_ptr<error_code> op);

    // ---- any thread

    // Nothing is lost where there is no memory to post it.
    static void leave_in_background(const std::shared_ptr<member_node>& who) noexcept;
    [[nodiscard]] bool is_member() const noexcept { return is_member_; }
    [[nodiscard]] std::uint64_t joins() const noexcept { return joins_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

private:
    void enter();
    void entered(const error_code& ec, const std::string& words, unique_lock&& held);
    void lost(const error_code& why);
    void write();
    void written(const error_code& ec, std::uint64_t number);
    void over(const error_code& why);
    void catch_up() override;
    void discarded() noexcept override;
    template <class... Results, class Then>
    [[nodiscard]] auto guarded(Then then);

    const std::string path_; // of the node
    const std::string name_;
    const std::optional<access_control_list> acl_;
    protocol::member_text said_;
    protocol::member_text known_; // the last that was not refused

    std::optional<single_node_mutex> mutex_;
    unique_lock held_;
    error_code why_;                  // it is a member no more
    error_code lost_;                 // its node was lost, and it has not joined again
    asio::cancellation_signal inner_; // of what waits for the node, or for its loss
    asio::cancellation_signal write_;
    pauses pace_;

    operation_ptr<error_code, membership> joining_;
    waiting_list<std::uint64_t> rejoining_;
    waiting_list<> updating_;
    std::uint64_t texts_ = 0; // that it was given to say
    bool writing_ = false;

    std::atomic<bool> is_left_{false}; // by its guard
    std::atomic<bool> is_member_{false};
    std::atomic<std::uint64_t> joins_{0};
};

} // namespace colock::detail
