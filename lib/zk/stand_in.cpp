#include "stand_in.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace colock::zk {

stand_in::stand_in(int descriptor) noexcept : descriptor_{descriptor}
{
    socket_ = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    int ends[2];
    if (socket_ == -1 ||
        ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
        return;
    }
    const int smallest = 1;
    static_cast<void>(::setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &smallest, sizeof smallest));
    constexpr char filler[4096] = {};
    while (::send(ends[1], filler, sizeof filler, MSG_NOSIGNAL) > 0) {
    }
    if (::dup3(ends[1], descriptor, O_CLOEXEC) != -1) {
        here_ = ends[0];
    } else {
        ::close(ends[0]);
    }
    ::close(ends[1]);
}

stand_in::~stand_in()
{
    if (socket_ != -1) {
        ::close(socket_);
    }
    if (here_ != -1) {
        ::close(here_);
    }
}

bool stand_in::give(std::string_view& bytes) noexcept
{
    const auto count = ::send(here_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) {
        return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
    return true;
}

void stand_in::restore() noexcept
{
    static_cast<void>(::dup3(socket_, descriptor_, O_CLOEXEC)); // over an open one: cannot fail
}

} // namespace colock::zk
