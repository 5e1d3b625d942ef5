// A handle of ZooKeeper's C client, in colock's words: the only door to <zookeeper.h>.
#pragma once

#include <colock/client_options.hpp>

#include "zk/call.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace colock::zk {

// Translates, and decides nothing.
class c_client {
public:
    enum class status {
        connecting,
        associating, // the handshake is under way
        connected,
        not_connected, // not yet, or not any more
        expired,
        auth_failed
    };

    struct interest {
        int descriptor = -1;
        bool read = false;
        bool write = false;
        std::chrono::microseconds timeout{};
    };

    // `hosts` is one numeric address, and the chroot.
    c_client(const std::string& hosts, std::chrono::milliseconds session_timeout,
             const session_identity& session, const std::vector<credential>& credentials,
             watch_receiver& watches);
    // Blocks when there is a connection.
    ~c_client();

    c_client(const c_client&) = delete;
    c_client& operator=(const c_client&) = delete;

    // False when it had no memory, or could not parse the address. Then nothing else may be called.
    [[nodiscard]] bool valid() const noexcept { return native_ != nullptr; }
    [[nodiscard]] status state() const noexcept;

    [[nodiscard]] error_code look_what_next(interest& next);
    // Reads at most one frame from the socket.
    [[nodiscard]] error_code read();
    void write();
    void write_anything() noexcept;
    // Says more about the client than the constructor did. Only while nothing waits to be written.
    [[nodiscard]] bool authenticate(const credential& c);
    // Sends or queues a request. When this fails, `to` is not called.
    [[nodiscard]] error_code send(const call& c, receiver& to);

    // The next requests of the process have numbers that are higher by so many.
    static void skip_numbers(std::int32_t count) noexcept;

    [[nodiscard]] session_identity session() const noexcept;
    [[nodiscard]] std::chrono::milliseconds session_timeout() const noexcept;

private:
    struct native; // hides zhandle_t
    native* native_ = nullptr;
};

} // namespace colock::zk
