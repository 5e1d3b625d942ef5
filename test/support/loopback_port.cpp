#include "loopback_port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <stdexcept>
#include <utility>

namespace colock::test {

namespace {

// Ports outside the range from which the kernel takes source ports. A port inside it would be
// unsafe however it was picked: while the server is down, any outgoing connection can take its
// port, and a client that keeps trying to reconnect over loopback can even connect to itself.
struct port_range {
    unsigned first;
    unsigned last;
};

port_range unprivileged_listening_ports()
{
    unsigned low = 32768;
    unsigned high = 60999;
    std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> low >> high;
    if (low > 14000)
        return {10000, low - 1};
    if (high < 63000)
        return {high + 1, 65535};
    return {10000, 65535};
}

bool bindable(unsigned port)
{
    int const fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    // As a server does it: connections of a former owner in TIME_WAIT are no obstacle.
    int const on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bool const free = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    return free;
}

// An abstract Unix socket with the port in its name: exclusive, in the same network namespace as
// the port itself, and gone with the process. Returns -1 when somebody has it.
int reserve(unsigned port)
{
    int const fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        throw std::runtime_error(std::string("loopback_port: socket: ") + std::strerror(errno));
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    int const length =
        std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "colock.test.port.%u", port);
    auto const size = offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&name), static_cast<socklen_t>(size)) != 0) {
        ::close(fd);
        return -1;
    }
    return fd;
}

} // namespace

loopback_port::loopback_port()
{
    auto const range = unprivileged_listening_ports();
    std::random_device random;
    std::uniform_int_distribution<unsigned> pick(range.first, range.last);
    for (int attempt = 0; attempt < 10'000; ++attempt) {
        unsigned const port = pick(random);
        int const reservation = reserve(port);
        if (reservation < 0)
            continue;
        if (bindable(port)) {
            number_ = static_cast<std::uint16_t>(port);
            reservation_ = reservation;
            return;
        }
        ::close(reservation);
    }
    throw std::runtime_error("loopback_port: no free port on 127.0.0.1 between " +
                             std::to_string(range.first) + " and " + std::to_string(range.last));
}

loopback_port::loopback_port(loopback_port&& other) noexcept
    : number_(std::exchange(other.number_, std::uint16_t{0})),
      reservation_(std::exchange(other.reservation_, -1))
{
}

loopback_port& loopback_port::operator=(loopback_port&& other) noexcept
{
    std::swap(number_, other.number_);
    std::swap(reservation_, other.reservation_);
    return *this;
}

loopback_port::~loopback_port()
{
    if (reservation_ >= 0)
        ::close(reservation_);
}

std::string loopback_port::address() const
{
    return "127.0.0.1:" + std::to_string(number_);
}

bool loopback_port::occupied() const
{
    return !bindable(number_);
}

} // namespace colock::test
