// A public watch: set again after every disconnection, until its event has come.
#pragma once

#include "session/core.hpp"

#include <optional>
#include <string>

namespace colock::detail {

// On the strand, except where a function says otherwise.
class watch_state final : public session_listener,
                          public zk::watch_registry::subscriber,
                          public std::enable_shared_from_this<watch_state> {
public:
    // `op` is get, exists or children.
    watch_state(std::shared_ptr<client_core> core, zk::opcode op, std::string path)
        : core_{std::move(core)}, op_{op}, path_{std::move(path)}
    {
    }

    // The watched read has succeeded, and found this, or nothing.
    void begin(std::optional<node_stat> found);
    // Nobody wants the event any more.
    void end();
    // The last `watch` object is gone.
    void dropped();

    void wait(operation_ptr<error_code, watch_event> op);

    [[nodiscard]] const std::shared_ptr<client_core>& core() const noexcept
    {
        return core_;
    } // any thread
    [[nodiscard]] zk::watch_kind kind() const noexcept
    {
        return op_ == zk::opcode::children ? zk::watch_kind::children : zk::watch_kind::data;
    }

    // The object that a `watch` holds: any thread may drop its last copy.
    [[nodiscard]] std::shared_ptr<void> make_handle();

private:
    void connected(std::int64_t session) override;
    [[nodiscard]] request_ptr renewal();
    void suspended() override { set_ = false; }
    void expired() override { set_ = false; }
    void closed(const error_code& why) override;
    void given_up(const error_code& why) override { deliver(why, {}); }
    void discarded() noexcept override;
    void watch_fired(const watch_event& event) noexcept override;

    // The event that happened while nobody watched, if any.
    [[nodiscard]] std::optional<watch_event_type>
    difference(const std::optional<node_stat>& found) const;
    void deliver(const error_code& ec, watch_event event);

    const std::shared_ptr<client_core> core_;
    const zk::opcode op_;
    const std::string path_;
    std::optional<node_stat> seen_;
    bool set_ = false;   // subscribed
    bool over_ = false;  // the event has come, or will not come
    bool taken_ = false; // and was given to the user
    error_code error_;
    watch_event event_;
    operation_ptr<error_code, watch_event> waiting_;
};

} // namespace colock::detail
