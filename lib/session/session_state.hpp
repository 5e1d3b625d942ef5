// The session of a client, as far as everybody may look at it.
#pragma once

#include <colock/client_state.hpp>
#include <colock/detail/operation.hpp>
#include <colock/error.hpp>

#include "session/waiting_list.hpp"
#include "zk/call.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>

namespace colock::detail {

class session_state {
public:
    ~session_state();

    // ---- any thread

    [[nodiscard]] connection_state get() const noexcept { return state_; }
    [[nodiscard]] std::int64_t id() const noexcept { return id_; }
    [[nodiscard]] std::chrono::milliseconds timeout() const noexcept
    {
        return std::chrono::milliseconds{timeout_};
    }
    // 0 while requests of users cannot be sent.
    [[nodiscard]] std::uint64_t connection_id() const noexcept { return connection_id_; }
    [[nodiscard]] bool is_connected() const noexcept { return connection_id() != 0; }

    // ---- on the strand

    [[nodiscard]] const zk::session_identity& identity() const noexcept { return identity_; }
    // Without an id: there is no session.
    void assign(const zk::session_identity& identity, std::chrono::milliseconds timeout);

    void connected() noexcept { connection_id_ = ++connections_; }
    void disconnected() noexcept { connection_id_ = 0; }

    void set(connection_state state);
    void wait_change(connection_state seen, operation_ptr<error_code, connection_state> op);
    void abort_waits() { waiters_.complete_all(asio::error::operation_aborted, state_); }
    // Destroys those that wait, without a word.
    void discard() noexcept { waiters_.discard(); }

private:
    std::atomic<connection_state> state_{connection_state::idle};
    std::atomic<std::int64_t> id_{0};
    std::atomic<std::int64_t> timeout_{0};
    std::atomic<std::uint64_t> connection_id_{0};
    std::uint64_t connections_ = 0;
    zk::session_identity identity_;
    waiting_list<connection_state> waiters_; // all of them have seen the present state
};

} // namespace colock::detail
