#include "zk/handle.hpp"

#include "zk/descriptor.hpp"
#include "zk/secret.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace colock::zk {

handle::handle(wire& way, const std::string& chroot, std::chrono::milliseconds session_timeout,
               const session_identity& session, const std::vector<credential>& credentials,
               watch_receiver& watches)
    : wire_{way}, reader_{session.id, credentials.size(), chroot},
      client_{way.address_for_client() + chroot, session_timeout, session, credentials, watches}
{
}

// The C client then has no connection, and frees: it sends and waits for nothing.
handle::~handle()
{
    if (valid()) {
        abort();
    }
}

handle::status handle::state() const noexcept
{
    switch (client_.state()) {
    case c_client::status::connected: return status::connected;
    case c_client::status::connecting:
    case c_client::status::associating: return status::connecting;
    case c_client::status::expired: return status::expired;
    case c_client::status::auth_failed: return status::auth_failed;
    case c_client::status::not_connected: break;
    }
    return started_ ? status::broken : status::connecting;
}

handle::interest handle::next_interest()
{
    started_ = true;
    interest next;
    errno = 0;
    if (const auto ec = client_.look_what_next(next)) {
        const int cause = descriptor_ == -1 ? errno : 0; // of connect()
        auto fault = unreachable(cause);
        if (!fault.empty()) {
            fault = "connect to " + wire_.address_for_client() + ": " + fault;
        } else if (ec == zookeeper_errc::operation_timeout) {
            fault = "the server is silent";
        }
        // A ping that cannot be sent leaves the socket open and the state connected, without end.
        break_off(std::move(fault));
        return {};
    }
    if (descriptor_ == -1 && next.descriptor != -1) {
        ::fcntl(next.descriptor, F_SETFD, FD_CLOEXEC);
    }
    descriptor_ = next.descriptor;
    if (reader_.outstanding() != 0 && client_.state() == c_client::status::connected) {
        // The C client's own patience, which events and pings would renew. After a pause of the program the answer may
        // lie in the socket after events: what is there is read first, unless there is no end of it.
        const auto patience = session_timeout() * 2 / 3;
        auto left = reader_.unanswered_since() + patience - frame_reader::clock::now();
        if (left <= frame_reader::clock::duration{}) {
            if (left <= -patience || !reader_.has_unread(wire_)) {
                break_off("the server has answered no request for " +
                          std::to_string(patience.count()) + " ms");
                return {};
            }
            left = {};
        }
        next.timeout = std::min(next.timeout, std::chrono::ceil<std::chrono::microseconds>(left));
    }
    return next;
}

bool handle::process_read()
{
    if (client_.state() == c_client::status::connecting) {
        return false; // there is no server yet
    }
    using action = frame_reader::action;
    auto step = reader_.read(wire_);
    switch (step.next) {
    case action::none: break;
    case action::read:
        if (!step.fault.empty()) {
            fault_ = std::move(step.fault);
        }
        have_read(client_.read());
        break;
    case action::hand_over: {
        const bool has_password = client_.state() == c_client::status::associating;
        hand_over(step.frame);
        if (has_password) {
            wipe(step.frame);
        }
        break;
    }
    case action::refuse: break_off(std::move(step.fault)); break;
    }
    avoid_reserved_numbers();
    return step.more;
}

// The C client numbers the requests of all handles of the process together, from the time of its first one on. After some
// 2,500 million it comes to the numbers below zero that stand for no request (frame_guard.cpp): the reply to a request with
// such a number would break the connection. At -1 the C client begins anew.
void handle::avoid_reserved_numbers()
{
    constexpr std::int32_t near =
        1'000'000; // more than are sent between two looks, and skipped in 40 ms
    const auto number = reader_.last_number();
    const bool are_near = number < 0 && number > -near && is_connected();
    if (are_near && !avoided_) {
        c_client::skip_numbers(-number);
    }
    avoided_ = are_near;
}

// The C client reads what was received here. What it writes meanwhile, it may have to write later.
void handle::hand_over(std::string_view frame)
{
    if (!wire_.begin_giving()) {
        break_off("there is no file descriptor left to read a long answer");
        return;
    }
    error_code ec = zookeeper_errc::nothing;
    while (ec == zookeeper_errc::nothing && wire_.give(frame)) {
        ec = client_.read();
    }
    // Else it has closed the descriptor.
    wire_.end_giving(is_connected() || client_.state() == c_client::status::connecting);
    have_read(ec);
}

void handle::have_read(const error_code& ec)
{
    if (ec == zookeeper_errc::runtime_inconsistency) {
        fault_ = "the server sent the reply to another request than the first outstanding one";
    } else if (ec == zookeeper_errc::nothing) {
        break_off("the C client has no memory for a reply");
    }
}

void handle::break_off(std::string why)
{
    fault_ = std::move(why);
    abort();
}

bool handle::authenticate(const credential& c)
{
    if (!is_connected() || next_interest().write || !is_connected() || !client_.authenticate(c)) {
        return false;
    }
    reader_.authenticates();
    return true;
}

error_code handle::send(const call& c, receiver& to)
{
    const auto ec = client_.send(c, to);
    if (!ec) {
        reader_.sent(c);
    }
    return ec;
}

bool handle::send_close() noexcept
{
    // length 8, any xid, opcode -11
    constexpr unsigned char close_request[] = {0,    0,    0,    8,    0x7f, 0xff,
                                               0xff, 0xff, 0xff, 0xff, 0xff, 0xf5};
    return descriptor_ >= 0 && state() == status::connected &&
           ::send(descriptor_, close_request, sizeof close_request, MSG_DONTWAIT | MSG_NOSIGNAL) ==
               static_cast<ssize_t>(sizeof close_request);
}

bool handle::is_connected() const noexcept
{
    const auto now = client_.state();
    return now == c_client::status::connected || now == c_client::status::associating;
}

void handle::abort() noexcept
{
    if (!is_connected()) {
        return;
    }
    // The C client reads and writes /dev/null from now on, which fails at once. Whatever the socket still holds is
    // not for it. The connection has a descriptor of its own for the socket, and closes it in good order.
    if (const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC); null != -1) {
        replace_descriptor(descriptor_, null);
        ::close(null);
    } else {
        const sockaddr unspecified{AF_UNSPEC, {}};
        if (::connect(descriptor_, &unspecified, sizeof unspecified) != 0) { // it is not of TCP
            static_cast<void>(::shutdown(descriptor_, SHUT_RDWR));
        }
    }
    static_cast<void>(client_.read());
    if (is_connected()) {
        // The C client had no memory for a reply, and does not even try to read any more. But it writes.
        client_.write_anything();
    }
}

} // namespace colock::zk
