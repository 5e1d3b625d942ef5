#include "zk/socket_pair.hpp"

#include "zk/descriptor.hpp"

#include <sys/socket.h>
#include <unistd.h>

namespace colock::zk {

socket_pair::~socket_pair()
{
    if (here_ != -1) {
        ::close(here_);
    }
}

bool socket_pair::place(int descriptor, bool writable) noexcept
{
    int ends[2];
    if (!new_socket_pair(ends)) {
        return false;
    }
    if (!writable) {
        const int smallest = 1;
        static_cast<void>(::setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &smallest, sizeof smallest));
        constexpr char filler[4096] = {};
        while (::send(ends[1], filler, sizeof filler, MSG_NOSIGNAL) > 0) {
        }
    }
    const bool placed = replace_descriptor(descriptor, ends[1]);
    ::close(ends[1]);
    if (placed) {
        here_ = ends[0];
    } else {
        ::close(ends[0]);
    }
    return placed;
}

bool socket_pair::give(std::string_view& bytes) noexcept
{
    const auto count = ::send(here_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) {
        return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
    return true;
}

std::size_t socket_pair::take(char* into, std::size_t size) noexcept
{
    const auto count = ::recv(here_, into, size, MSG_DONTWAIT);
    return count > 0 ? static_cast<std::size_t>(count) : 0;
}

} // namespace colock::zk
