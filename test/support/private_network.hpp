#ifndef COLOCK_TEST_SUPPORT_PRIVATE_NETWORK_HPP
#define COLOCK_TEST_SUPPORT_PRIVATE_NETWORK_HPP

#include "network_namespace.hpp"
#include "zookeeper_server.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace colock::test {

/// The two networks that each host of a `private_network` is plugged into.
enum class lan {
    clients, ///< Where this program is, too.
    peers    ///< Where the hosts are among themselves.
};

/// A network of this program's own, with hosts on which servers can run, and whose cables can be pulled.
/**
 * Each host is a network namespace. The thread that makes a network moves into a further one, on the
 * clients' side, and back when it destroys it: so do the threads that it starts meanwhile, but not the
 * programs. Networks of several programs know nothing of each other; they all have the same addresses.
 *
 * Namespaces have no names. They are held by descriptors of this process and by what runs in them, so
 * however this process ends, the kernel clears everything away.
 *
 * Needs root, and the program `ip` (Debian's iproute2): see `obstacle()`. Functions throw
 * `std::runtime_error`.
 */
class private_network {
public:
    /// Why there can be no such network here; empty when there can.
    static std::string obstacle();

    explicit private_network(std::size_t hosts);
    private_network(private_network const&) = delete;
    private_network& operator=(private_network const&) = delete;
    ~private_network();

    /// For the servers of an ensemble, one on each host.
    std::vector<server_place> places() const;

    /// A command that runs the one that is appended to it where this program is.
    std::vector<std::string> launcher() const;

    /// From now on what the host sends there, and what is sent to it, is lost without a word. Interfaces,
    /// routes and connections stay. Until `restore`.
    void cut(std::size_t host, lan where);
    void restore(std::size_t host, lan where);

private:
    std::vector<network_namespace>
        spaces_; // where the thread was before, where it is now, the hosts
};

} // namespace colock::test

#endif
