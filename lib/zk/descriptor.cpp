#include "zk/descriptor.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace colock::zk {

#ifdef COLOCK_PORTABLE

namespace {

bool set_up(int socket) noexcept
{
    return ::fcntl(socket, F_SETFD, FD_CLOEXEC) != -1 && ::fcntl(socket, F_SETFL, O_NONBLOCK) != -1;
}

} // namespace

int new_tcp_socket(int family) noexcept
{
    const int made = ::socket(family, SOCK_STREAM, IPPROTO_TCP);
    if (made != -1 && !set_up(made)) {
        ::close(made);
        return -1;
    }
    return made;
}

bool new_socket_pair(int (&ends)[2]) noexcept
{
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        return false;
    }
    if (!set_up(ends[0]) || !set_up(ends[1])) {
        ::close(ends[0]);
        ::close(ends[1]);
        return false;
    }
    return true;
}

bool replace_descriptor(int descriptor, int original) noexcept
{
    return ::dup2(original, descriptor) != -1 && ::fcntl(descriptor, F_SETFD, FD_CLOEXEC) != -1;
}

void cork(int, bool) noexcept
{
}

#else

int new_tcp_socket(int family) noexcept
{
    return ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
}

bool new_socket_pair(int (&ends)[2]) noexcept
{
    return ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0;
}

bool replace_descriptor(int descriptor, int original) noexcept
{
    return ::dup3(original, descriptor, O_CLOEXEC) != -1;
}

// What fails here fails in the C client, too.
void cork(int socket, bool on) noexcept
{
    const int value = on ? 1 : 0;
    static_cast<void>(::setsockopt(socket, IPPROTO_TCP, TCP_CORK, &value, sizeof value));
}

#endif

std::string unreachable(int error)
{
    const bool is_here =
        error == EACCES || error == EPERM || error == ENETUNREACH || error == EHOSTUNREACH;
    return is_here ? std::generic_category().message(error) : std::string{};
}

bool are_descriptors_left() noexcept
{
    const int another = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (another != -1) {
        ::close(another);
    }
    return another != -1 || (errno != EMFILE && errno != ENFILE);
}

} // namespace colock::zk
