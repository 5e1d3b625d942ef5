#ifndef COLOCK_TEST_SUPPORT_HOSTILE_SERVER_HPP
#define COLOCK_TEST_SUPPORT_HOSTILE_SERVER_HPP

#include "opcode.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace colock::test {

/// A small ZooKeeper server inside the test process that speaks the protocol, and misbehaves when told to.
/**
 * Nodes, sequences, ephemeral nodes, transactions and one-shot watches are as ZooKeeper has them; there are no
 * access control, no time-outs of sessions, no replicas. It listens on a port of its own on the loopback and has one
 * thread. All functions may be called from any thread.
 */
class hostile_server {
public:
    struct request {
        opcode kind = opcode::connect;
        std::int32_t xid = 0;
        std::string path;             ///< Of a transaction: of its first step.
        std::uint64_t connection = 0; ///< Counts from 1.
        bool watches = false;         ///< It is a read that sets a watch.
    };

    /// What the server sends for a request.
    struct answer {
        answer(std::string b) : bytes(std::move(b)) {}

        std::string bytes;    ///< With the length before each frame.
        bool endless = false; ///< Behind them come zeros, as many as the client reads.
        bool finish = false;  ///< Behind them comes the end of the connection.
        std::size_t at_once =
            0; ///< So many bytes at a time, with a millisecond in between; 0: all.
    };

    /// Gets what an honest server answers. Runs in the server's thread, and must not call the server.
    using trick = std::function<answer(request const&, std::string honest)>;

    hostile_server();
    ~hostile_server();
    hostile_server(hostile_server const&) = delete;
    hostile_server& operator=(hostile_server const&) = delete;

    /// "127.0.0.1:<port>".
    std::string connect_string() const;

    /// From now on; an empty one: the server is honest.
    void play(trick t);

    /// Sends bytes on every connection that has a session.
    void push(std::string const& bytes);

    /// Connections that were accepted, and requests that were read, so far.
    std::uint64_t connections() const;
    std::uint64_t requests() const;

    /// Whether there is such a node.
    bool exists(std::string const& path) const;

private:
    class impl;
    std::unique_ptr<impl> impl_;
};

} // namespace colock::test

#endif
