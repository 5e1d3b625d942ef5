// One connection of ZooKeeper's C client: the only door to <zookeeper.h>.
//
// A handle lives for one TCP connection. It never reconnects: when its connection is gone so is the
// handle, and the next one takes the session over by its id and password. This leaves out the parts of
// the C client that can spin, replay, or reconnect with a packet that is too large.
#pragma once

#include <colock/client_options.hpp>

#include "frame_guard.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colock::zk {

// Receives the reply to one request. `answered` is called exactly once for every request that
// handle::send accepted, at the latest from the handle's destructor.
class receiver {
public:
    virtual void answered(reply&& r) noexcept = 0;

protected:
    ~receiver() = default;
};

// Receives the events of all watches of a handle.
class watch_receiver {
public:
    virtual void watch_fired(watch_event&& event) noexcept = 0;

protected:
    ~watch_receiver() = default;
};

struct session_identity {
    std::int64_t id = 0;
    std::array<char, 16> password{};
};

class handle {
public:
    enum class status { connecting, connected, broken, expired, auth_failed };

    struct interest {
        int descriptor = -1;
        bool read = false;
        bool write = false;
        std::chrono::microseconds timeout{};
    };

    // `address` is numeric. `session` is a session to take over, or has the id 0.
    handle(const std::string& address, const std::string& chroot,
           std::chrono::milliseconds session_timeout, const session_identity& session,
           const std::vector<credential>& credentials, watch_receiver& watches);

    // Never blocks, except that it runs `answered` for what is outstanding.
    ~handle();

    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;

    // False when the C client had no memory or could not parse the address.
    [[nodiscard]] bool valid() const noexcept;

    [[nodiscard]] status state() const noexcept;

    // What to wait for next. May break the connection, and run callbacks.
    [[nodiscard]] interest next_interest();

    // Checks what the server has sent, and lets the C client read at most one frame of it. True when there may be
    // more. What the C client must not see breaks the connection.
    bool process_read();
    void process_write();

    // Sends or queues a request. When this fails, `to` is not called.
    [[nodiscard]] error_code send(const call& c, receiver& to);

    // Writes the request that ends the session. Only when nothing waits to be written, and no other
    // function but the destructor may be called afterwards: the answer is not for the C client.
    [[nodiscard]] bool send_close() noexcept;

    // Makes the connection broken, by the C client's own path for a broken one. Waits for nothing.
    void abort() noexcept;

    // Why the connection broke; empty when the server, or the network, has just closed it.
    [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

    [[nodiscard]] session_identity session() const noexcept;
    [[nodiscard]] std::chrono::milliseconds session_timeout() const noexcept;

private:
    using clock = std::chrono::steady_clock;

    [[nodiscard]] bool has_unread() const noexcept;
    [[nodiscard]] bool look_ahead();
    [[nodiscard]] bool take_out();
    void hand_over();
    void let_it_read();
    void have_read(int rc);
    void break_off(std::string why);
    [[nodiscard]] frame_guard::verdict check(std::string_view bytes);

    struct native; // hides zhandle_t
    native* native_ = nullptr;
    int descriptor_ = -1; // the C client's, known from its last interest
    bool started_ = false;
    std::string fault_;

    frame_guard guard_;
    std::size_t checked_ = 0; // frames in the socket that the C client may read
    std::string taken_out_;   // of a frame that was not whole in the socket
    clock::time_point
        unanswered_since_; // while requests are outstanding: the last reply, or the first of them
};

} // namespace colock::zk
