#ifndef COLOCK_TEST_SUPPORT_LOOPBACK_PORT_HPP
#define COLOCK_TEST_SUPPORT_LOOPBACK_PORT_HPP

#include <cstdint>
#include <string>

namespace colock::test {

/// A TCP port of 127.0.0.1 that belongs to this object for as long as it lives.
/**
 * The reservation holds among all programs that pick ports with this class, also while nobody
 * listens on the port: a server that a test kills finds its port free when it is started again. It
 * ends with the process, however that ends. Unrelated programs are avoided (the port was free when
 * it was picked) but cannot be held off: see `occupied()`.
 */
class loopback_port {
public:
    /// Picks a free port. Throws `std::runtime_error` when there is none.
    loopback_port();
    loopback_port(loopback_port&& other) noexcept;
    loopback_port& operator=(loopback_port&& other) noexcept;
    ~loopback_port();

    std::uint16_t number() const noexcept { return number_; }

    /// "127.0.0.1:<number>".
    std::string address() const;

    /// Whether something listens on the port now (for the holder of the reservation: a stranger).
    bool occupied() const;

private:
    std::uint16_t number_ = 0;
    int reservation_ = -1;
};

} // namespace colock::test

#endif
