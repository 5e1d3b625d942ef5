#include "blocking_socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace colock::test {

std::vector<host_and_port> parse_hosts(std::string_view connect_string)
{
    std::vector<host_and_port> hosts;
    for (std::size_t begin = 0; begin <= connect_string.size();) {
        auto const end = std::min(connect_string.find(',', begin), connect_string.size());
        auto const item = connect_string.substr(begin, end - begin);
        auto const colon = item.rfind(':');
        auto const digits = colon == item.npos ? std::string_view() : item.substr(colon + 1);
        host_and_port parsed;
        auto const [rest, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), parsed.port);
        if (digits.empty() || error != std::errc() || rest != digits.data() + digits.size() ||
            parsed.port == 0)
            throw std::invalid_argument("\"" + std::string(connect_string) +
                                        "\" is not host:port[,host:port...]");
        parsed.host = item.substr(0, colon);
        if (parsed.host == "localhost")
            parsed.host = "127.0.0.1";
        hosts.push_back(std::move(parsed));
        begin = end + 1;
    }
    return hosts;
}

blocking_socket::blocking_socket(host_and_port const& where, time_limit until) : name_(where.text())
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(where.port);
    if (::inet_pton(AF_INET, where.host.c_str(), &address.sin_addr) != 1)
        throw std::runtime_error(name_ + ": not a numeric IPv4 address");
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd_ < 0)
        fail("socket", errno);
    try {
        int const on = 1;
        ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
            if (errno != EINPROGRESS)
                fail("connect", errno);
            wait(POLLOUT, until);
            int error = 0;
            socklen_t size = sizeof error;
            ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
            if (error)
                fail("connect", error);
        }
    } catch (...) {
        ::close(fd_);
        throw;
    }
}

blocking_socket::blocking_socket(blocking_socket&& other) noexcept
    : name_(std::move(other.name_)), fd_(std::exchange(other.fd_, -1))
{
}

blocking_socket& blocking_socket::operator=(blocking_socket&& other) noexcept
{
    std::swap(name_, other.name_);
    std::swap(fd_, other.fd_);
    return *this;
}

blocking_socket::~blocking_socket()
{
    if (fd_ >= 0)
        ::close(fd_);
}

void blocking_socket::fail(std::string const& what, int error) const
{
    throw std::runtime_error(name_ + ": " + what + (error ? std::string(": ") : std::string()) +
                             (error ? std::strerror(error) : ""));
}

void blocking_socket::wait(short events, time_limit until) const
{
    for (;;) {
        auto const left =
            std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        pollfd ready{fd_, events, 0};
        int const count = ::poll(&ready, 1, static_cast<int>(std::max<long long>(left.count(), 0)));
        if (count > 0)
            return;
        if (count == 0)
            fail("no answer within the time allowed", 0);
        if (errno != EINTR)
            fail("poll", errno);
    }
}

void blocking_socket::send(std::string_view bytes, time_limit until)
{
    while (!bytes.empty()) {
        auto const count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count >= 0)
            bytes.remove_prefix(static_cast<std::size_t>(count));
        else if (errno == EAGAIN)
            wait(POLLOUT, until);
        else if (errno != EINTR)
            fail("send", errno);
    }
}

// 0 at the end of the connection.
std::size_t blocking_socket::receive_some(char* buffer, std::size_t size, time_limit until)
{
    for (;;) {
        auto const count = ::recv(fd_, buffer, size, 0);
        if (count >= 0)
            return static_cast<std::size_t>(count);
        if (errno == EAGAIN)
            wait(POLLIN, until);
        else if (errno != EINTR)
            fail("receive", errno);
    }
}

std::string blocking_socket::receive(std::size_t size, time_limit until)
{
    std::string bytes(size, '\0');
    for (std::size_t done = 0; done < size;) {
        auto const count = receive_some(bytes.data() + done, size - done, until);
        if (count == 0)
            fail("the server closed the connection", 0);
        done += count;
    }
    return bytes;
}

std::string blocking_socket::receive_all(time_limit until)
{
    std::string bytes;
    char buffer[16384];
    while (auto const count = receive_some(buffer, sizeof buffer, until))
        bytes.append(buffer, count);
    return bytes;
}

bool blocking_socket::ended() const
{
    char next;
    auto const count = ::recv(fd_, &next, 1, MSG_PEEK | MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN);
}

} // namespace colock::test
