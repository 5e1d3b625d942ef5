// The network of the chaos: hosts, and one switch among them that loses and delays packets as it is told.
#ifndef COLOCK_TEST_CHAOS_NETWORK_HPP
#define COLOCK_TEST_CHAOS_NETWORK_HPP

#include <support/network_namespace.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace chaos {

// A set of hosts, one bit each.
using hosts = std::uint32_t;

constexpr hosts host(std::size_t number)
{
    return hosts{1} << number;
}

// What happens to a packet on its way from one of these hosts to one of those.
struct disturbance {
    hosts from = 0;
    hosts to = 0;
    int lost = 0; // of a hundred packets
    std::chrono::milliseconds delay{0};

    friend bool operator==(const disturbance&, const disturbance&) = default;
};

// Each host is a network namespace with one interface, a TUN device. This program is the cable at its other end: a
// thread reads each packet, looks at the disturbances, and writes the packet to the host that it is for. So a cut,
// in both directions or in one, a loss, and a delay are one mechanism, which asks nothing of the kernel but TUN.
//
// The thread that makes a network moves into its host 0, and back when it destroys the network.
class network {
public:
    // Why there can be no such network here; empty when there can.
    static std::string obstacle();

    // Throws std::runtime_error.
    network(std::size_t size, std::uint64_t seed);
    network(const network&) = delete;
    network& operator=(const network&) = delete;
    ~network();

    [[nodiscard]] std::string address(std::size_t number) const;
    [[nodiscard]] std::vector<std::string> launcher(std::size_t number) const;

    // Several may be in force for one packet: delays add up, losses are drawn one by one.
    void disturb(const disturbance& d);
    // One that is in force; and all of them.
    void heal(const disturbance& d);
    void heal();

    // Processes that are in one of its namespaces, but for this one.
    [[nodiscard]] std::vector<std::string> processes() const;

private:
    class cable_box; // the thread

    colock::test::network_namespace before_;
    std::vector<colock::test::network_namespace> spaces_;
    std::unique_ptr<cable_box> cables_;
};

} // namespace chaos

#endif
