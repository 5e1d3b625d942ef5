// What the client keeps of connections that it has given up.
#pragma once

#include <colock/error.hpp>

#include "strand.hpp"

#include <memory>
#include <string>
#include <vector>

namespace colock::zk {

// The sockets of connections that the client has given up, each until its server has closed it too.
//
// A server that stalls still has requests of such a connection to read. It reads the end of the stream behind them, and
// closes the connection then. Whoever waits for that knows that nothing of the connection comes later.
//
// On the strand. The sockets wait for their servers, and so are work to the executor until clear().
class old_sockets {
public:
    explicit old_sockets(const strand_type& strand) : strand_{strand} {}
    old_sockets(const old_sockets&) = delete;
    old_sockets& operator=(const old_sockets&) = delete;
    ~old_sockets() { clear(); }

    // Takes the descriptor, and sends the end of the stream. What the server still sends is read and dropped,
    // up to a limit.
    // An earlier connection to the same address is forgotten: its server has closed it when the session came back.
    void add(const std::string& address, int descriptor);

    // Whether the server at this address may still have to read from such a connection.
    [[nodiscard]] bool contains(const std::string& address);

    void clear() noexcept;

private:
    class socket;

    void forget_closed();

    strand_type strand_;
    std::vector<std::shared_ptr<socket>> all_; // the oldest first; one for each address
};

} // namespace colock::zk
