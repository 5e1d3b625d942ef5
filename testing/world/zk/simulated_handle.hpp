// What the C client keeps of a connection, in the simulated world: a session, the requests under way, and both patiences.
#pragma once

#include <colock/client_options.hpp>
#include <colock/error.hpp>

#include "chroot.hpp"
#include "ensemble/fifo.hpp"
#include "ensemble/network.hpp"
#include "zk/connection.hpp"
#include "zk/handle.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace colock::simulated {

class simulated_handle {
public:
    using clock = std::chrono::steady_clock;
    using status = colock::zk::handle::status;

    // What becomes of the socket, between two calls.
    struct events {
        std::function<void()> connected;
        std::function<void()> readable;
    };
    // What it is opened for.
    struct target {
        std::string address;
        std::string prefix;
        std::chrono::milliseconds session_timeout;
        colock::zk::session_identity session;
        std::vector<colock::credential> credentials;
    };

    void open(target to, colock::zk::watch_receiver& watches, events told);

    [[nodiscard]] status state() const noexcept { return state_; }
    [[nodiscard]] const std::string& fault() const noexcept { return fault_; }
    [[nodiscard]] const std::string& address() const noexcept { return address_; }
    [[nodiscard]] const colock::zk::session_identity& session() const noexcept { return session_; }
    [[nodiscard]] std::chrono::milliseconds session_timeout() const noexcept { return timeout_; }
    [[nodiscard]] bool is_readable() const noexcept { return !arrived_.empty() || end_arrived_; }
    [[nodiscard]] bool has_seen_the_end() const noexcept { return end_arrived_; }

    // Asks for the session, or for a new one.
    void offer();
    // How long there is nothing to do. Connects at first. May break the connection.
    [[nodiscard]] clock::duration next_interest();
    // Reads at most one packet. True when there may be more.
    [[nodiscard]] bool process_read();
    void break_off(status s, const error_code& why, std::string fault);

    // Both are held back until flush().
    [[nodiscard]] error_code send(const colock::zk::call& c, colock::zk::receiver& to);
    void authenticate(const colock::credential& c);
    void flush();

    // Asks to end the session. Nothing is read but the answer from then on.
    void end_session();
    // Reads all of it. True when the end of the session was confirmed.
    [[nodiscard]] bool read_confirmation();
    // Gives the stream away, with all that was held back; null when there is none.
    [[nodiscard]] std::shared_ptr<stream> leave();

private:
    struct sent_request {
        std::int32_t number;
        colock::zk::opcode op;
        colock::zk::receiver* to;
    };

    void connect();
    void understand(message&& m);

    events told_;
    std::string address_;
    chroot root_;
    std::chrono::milliseconds timeout_{}; // that of the session, once there is one
    colock::zk::session_identity session_;
    std::vector<colock::credential> credentials_;
    colock::zk::watch_receiver* watches_ = nullptr;

    std::shared_ptr<stream> stream_;
    status state_ = status::connecting;
    std::string fault_;
    fifo<message> arrived_;
    bool end_arrived_ = false; // behind all that has arrived
    fifo<sent_request> outstanding_;
    std::vector<message> held_back_; // until flush()
    std::int32_t numbers_ = 0;
    clock::time_point last_received_;
    clock::time_point last_sent_;
    clock::time_point unanswered_since_; // see zk::handle
};

} // namespace colock::simulated
