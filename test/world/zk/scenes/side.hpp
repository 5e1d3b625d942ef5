// A connection of the library, and a server that a test plays: in the simulated world, or with the C client and a socket.
#pragma once

#include "simulated.hpp"
#include "zk/strand.hpp"

#include <functional>
#include <memory>
#include <string>

namespace world {

class side {
public:
    side() = default;
    side(const side&) = delete;
    side& operator=(const side&) = delete;
    virtual ~side() = default;

    [[nodiscard]] virtual boost::asio::any_io_executor executor() = 0;
    // Of the server, as the client wants it.
    [[nodiscard]] virtual std::string address() const = 0;
    // Runs it in the client's program.
    virtual void run(std::function<void()> what) = 0;
    // Lets time pass until this is true. False when it takes far too long.
    [[nodiscard]] virtual bool until(std::function<bool()> reached) = 0;

    // ---- the server. It has the connection that was made last.

    // `heard` gets what the client sends; monostate: the end of the stream.
    using listener = std::function<void(std::variant<std::monostate, message>)>;
    virtual void listen(listener heard) = 0;
    virtual void refuse() = 0; // from now on
    // All of it at once. The numbers of replies count the requests of the connection, from 1.
    virtual void send(std::vector<message> all) = 0;
    virtual void close() = 0;
};

// Of the program that is being built: each links the one or the other.
[[nodiscard]] std::unique_ptr<side> make_side();

} // namespace world
