// One connection of ZooKeeper's C client, from its begin to its end.
//
// A handle lives for one TCP connection. It never reconnects: when its connection is gone so is the
// handle, and the next one takes the session over by its id and password. This leaves out the parts of
// the C client that can spin, replay, or reconnect with a packet that is too large.
#pragma once

#include <colock/client_options.hpp>

#include "zk/c_client.hpp"
#include "zk/frame_reader.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace colock::zk {

class handle {
public:
    enum class status { connecting, connected, broken, expired, auth_failed };

    using interest = c_client::interest;

    // The wire outlives the handle. `session` is a session to take over, or has the id 0.
    handle(wire& way, const std::string& chroot, std::chrono::milliseconds session_timeout,
           const session_identity& session, const std::vector<credential>& credentials,
           watch_receiver& watches);

    // Never blocks, except that it runs `answered` for what is outstanding.
    ~handle();

    // False when the C client had no memory or could not parse the address.
    [[nodiscard]] bool valid() const noexcept { return client_.valid(); }

    [[nodiscard]] status state() const noexcept;
    // The request for the session has left, and is not answered yet.
    [[nodiscard]] bool is_offered() const noexcept
    {
        return client_.state() == c_client::status::associating;
    }

    // What to wait for next. May break the connection, and run callbacks.
    [[nodiscard]] interest next_interest();

    // Checks what the server has sent, and lets the C client read at most one frame of it. True when there may be
    // more. What the C client must not see breaks the connection.
    bool process_read();
    // So many bytes come before what the server sends next.
    [[nodiscard]] std::size_t to_skip() const noexcept { return reader_.to_skip(); }
    void process_write() { client_.write(); }

    // Says more about the client than the constructor did. False when the C client cannot do so now.
    [[nodiscard]] bool authenticate(const credential& c);

    // Sends or queues a request. When this fails, `to` is not called.
    [[nodiscard]] error_code send(const call& c, receiver& to);

    // Writes the request that ends the session. Only when nothing waits to be written, and no other
    // function but the destructor may be called afterwards: the answer is not for the C client.
    [[nodiscard]] bool send_close() noexcept;

    // Makes the connection broken, by the C client's own path for a broken one. Waits for nothing.
    void abort() noexcept;

    // Why the connection broke; empty when the server, or the network, has just closed it.
    [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

    [[nodiscard]] session_identity session() const noexcept { return client_.session(); }
    [[nodiscard]] std::chrono::milliseconds session_timeout() const noexcept
    {
        return client_.session_timeout();
    }

private:
    [[nodiscard]] bool is_connected() const noexcept;
    void hand_over(std::string_view frame);
    void have_read(const error_code& ec);
    void avoid_reserved_numbers();
    void break_off(std::string why);

    wire& wire_;
    int descriptor_ = -1; // the C client's, known from its last interest
    bool started_ = false;
    bool avoided_ = false; // the reserved numbers, which are near
    std::string fault_;
    frame_reader reader_;
    c_client client_; // goes first, and completes what is outstanding
};

} // namespace colock::zk
