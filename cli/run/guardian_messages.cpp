#include "run/guardian_messages.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstddef>
#include <stdexcept>

namespace colock::cli {

namespace {

struct header {
    message_kind kind;
    std::int32_t value;
};

constexpr std::size_t longest_text = std::size_t{64} * 1024;

bool send_with(int socket, const message& m, int flags)
{
    header h{m.kind, m.value};
    ::iovec parts[]{{&h, sizeof h}, {const_cast<char*>(m.text.data()), m.text.size()}};
    ::msghdr all{};
    all.msg_iov = parts;
    all.msg_iovlen = 2;
    if (m.text.size() > longest_text) {
        throw std::length_error{"a message to the guardian is too long"};
    }
    ssize_t sent = 0;
    while ((sent = ::sendmsg(socket, &all, flags)) < 0 && errno == EINTR) {
    }
    return sent >= 0;
}

} // namespace

bool send(int socket, const message& m)
{
    return send_with(socket, m, MSG_NOSIGNAL);
}

bool send_or_drop(int socket, const message& m)
{
    return send_with(socket, m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

received receive(int socket, message& m)
{
    header h{};
    char text[longest_text]; // most are empty: what nobody writes to costs no memory
    ::iovec parts[]{{&h, sizeof h}, {text, sizeof text}};
    ::msghdr all{};
    all.msg_iov = parts;
    all.msg_iovlen = 2;
    ssize_t size = 0;
    while ((size = ::recvmsg(socket, &all, MSG_DONTWAIT)) < 0 && errno == EINTR) {
    }
    if (size < 0) {
        return errno == EAGAIN || errno == EWOULDBLOCK ? received::nothing : received::end;
    }
    if (size < static_cast<ssize_t>(sizeof h) || (all.msg_flags & MSG_TRUNC) != 0) {
        return received::end;
    }
    m = {h.kind, h.value, {text, static_cast<std::size_t>(size) - sizeof h}};
    return received::message;
}

} // namespace colock::cli
