// TLS: the C client speaks plain text with one end of a pair of sockets, which never leaves the process. Here is the other
// end, and the socket to the server.
#pragma once

#include "zk/tls_terms.hpp"
#include "zk/wire.hpp"

#include <functional>
#include <memory>
#include <string>

namespace colock::zk {

// Connects to a server, and agrees with it upon TLS. On the strand.
class tls_connector {
public:
    // What it comes to: a wire; or none, and why.
    struct outcome {
        std::unique_ptr<wire> way;
        std::string fault; // empty when the network, or the server, has just closed the connection
        bool of_tls = false; // and not of the network
    };

    tls_connector() = default;
    tls_connector(const tls_connector&) = delete;
    tls_connector& operator=(const tls_connector&) = delete;
    virtual ~tls_connector() = default;

    // `reached`: the server is there, and the handshake begins. `done` is the last call, and never comes from within
    // this function.
    virtual void start(std::function<void()> reached, std::function<void(outcome)> done) = 0;
    // No call comes any more.
    virtual void cancel() noexcept = 0;
};

// `address` is numeric. Empty when there is no memory, or no TLS in this library.
[[nodiscard]] std::shared_ptr<tls_connector>
make_tls_connector(const strand_type& strand, const std::string& address, const tls_terms& terms);

} // namespace colock::zk
