// The sockets of connections that the client has given up.
#pragma once

#include "zk/strand.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock::zk {

// The socket of a connection that the client has given up. It is closed when it is destroyed, unless finish() was called.
class old_socket {
public:
    old_socket() = default;
    old_socket(const old_socket&) = delete;
    old_socket& operator=(const old_socket&) = delete;
    virtual ~old_socket() = default;

    // Sends the end of the stream. What the server still sends is read and dropped, up to a limit, until close().
    virtual void finish() noexcept = 0;
    // True once the server has closed the connection.
    [[nodiscard]] virtual bool is_over() const noexcept = 0;
    virtual void close() noexcept = 0;
};

// Takes the descriptor.
[[nodiscard]] std::shared_ptr<old_socket> make_old_socket(const strand_type& strand,
                                                          int descriptor);

// The sockets of connections that the client has given up, each until its server has closed it too.
//
// A server that stalls still has requests of such a connection to read. It reads the end of the stream after them, and
// closes the connection then. What follows from that is decided in session/old_connections.hpp.
//
// On the strand. The sockets wait for their servers, and so are work to the executor until clear().
class old_sockets {
public:
    old_sockets() = default;
    old_sockets(const old_sockets&) = delete;
    old_sockets& operator=(const old_sockets&) = delete;
    ~old_sockets() { clear(); }

    // Sends the end of the stream.
    // An earlier connection to the same address is forgotten: its server has closed it when the session came back.
    void add(const std::string& address, std::shared_ptr<old_socket> socket);

    // Whether the server at this address may still have to read from such a connection.
    [[nodiscard]] bool is_open(const std::string& address);

    void clear() noexcept;

private:
    struct entry {
        std::string address;
        std::chrono::steady_clock::time_point since;
        std::shared_ptr<old_socket> socket;
    };

    // That of the address `replaced`, too.
    void forget_harmless(std::string_view replaced = {});

    std::vector<entry> all_; // the oldest first; one for each address
};

} // namespace colock::zk
