#ifndef COLOCK_TEST_SUPPORT_BLOCKING_SOCKET_HPP
#define COLOCK_TEST_SUPPORT_BLOCKING_SOCKET_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

using time_limit = std::chrono::steady_clock::time_point;

inline time_limit after(std::chrono::milliseconds duration)
{
    return std::chrono::steady_clock::now() + duration;
}

/// A numeric IPv4 address ("localhost" is understood too) and a port.
struct host_and_port {
    std::string host;
    std::uint16_t port = 0;

    std::string text() const { return host + ":" + std::to_string(port); }
};

/// Parses "host:port[,host:port...]". Throws `std::invalid_argument` when it is not that.
std::vector<host_and_port> parse_hosts(std::string_view connect_string);

/// A TCP connection whose every operation blocks, but not beyond its deadline.
/**
 * All functions throw `std::runtime_error` with the address and the reason, after which the
 * connection is of no more use. Not for several threads at a time.
 */
class blocking_socket {
public:
    blocking_socket(host_and_port const& where, time_limit until);
    blocking_socket(blocking_socket&& other) noexcept;
    blocking_socket& operator=(blocking_socket&& other) noexcept;
    ~blocking_socket();

    void send(std::string_view bytes, time_limit until);

    /// Exactly `size` bytes; the end of the connection is an error.
    std::string receive(std::size_t size, time_limit until);

    /// All bytes up to the end of the connection.
    std::string receive_all(time_limit until);

    /// Whether the end or an error is the next thing to be read; does not wait.
    bool ended() const;

private:
    [[noreturn]] void fail(std::string const& what, int error) const;
    void wait(short events, time_limit until) const;
    std::size_t receive_some(char* buffer, std::size_t size, time_limit until);

    std::string name_;
    int fd_ = -1;
};

} // namespace colock::test

#endif
