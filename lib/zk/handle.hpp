// One connection of ZooKeeper's C client: the only door to <zookeeper.h>.
//
// A handle lives for one TCP connection. It never reconnects: when its connection is gone so is the
// handle, and the next one takes the session over by its id and password. This leaves out the parts of
// the C client that can spin, replay, or reconnect with a packet that is too large.
#pragma once

#include <colock/client_options.hpp>
#include <colock/node.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colock::zk {

enum class opcode {
    create,
    remove,
    exists,
    get,
    set,
    children,
    sync,
    multi,
    forget_watches, // frees every watch of the session on a path
};

enum class watch_kind { data, children };

// A request, as data. `path` has been validated.
struct call {
    opcode op = opcode::get;
    std::string path = {};
    std::string data = {};
    bool watch = false;
    watch_kind kind = watch_kind::data; // of forget_watches
    std::int32_t version = any_version;
    create_mode mode = create_mode::persistent;
    std::chrono::milliseconds ttl{};
    access_control_list acl = {};
    std::vector<transaction_op> ops = {};
};

// What came back. Which members have a meaning depends on the request.
struct reply {
    error_code error = {};
    std::string text = {}; // path of a create, data of a get
    node_stat stat = {};
    std::vector<std::string> names = {};
    std::vector<transaction_result> results = {};
};

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

    // Reads at most one packet; false when there was none, or the connection broke.
    bool process_read();
    void process_write();

    // Sends or queues a request. When this fails, `to` is not called.
    [[nodiscard]] error_code send(const call& c, receiver& to);

    // Writes the request that ends the session. Only when nothing waits to be written, and no other
    // function but the destructor may be called afterwards: the answer is not for the C client.
    [[nodiscard]] bool send_close() noexcept;

    // Makes the connection broken, by the C client's own path for a broken one.
    void abort() noexcept;

    [[nodiscard]] session_identity session() const noexcept;
    [[nodiscard]] std::chrono::milliseconds session_timeout() const noexcept;

private:
    struct native; // hides zhandle_t
    native* native_ = nullptr;
    int descriptor_ = -1; // the C client's, known from its last interest
    bool started_ = false;
    bool closing_ = false;
};

} // namespace colock::zk
