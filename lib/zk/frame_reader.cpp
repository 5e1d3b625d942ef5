#include "frame_reader.hpp"

#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace colock::zk {

namespace {

bool is_over(ssize_t received, int error) noexcept
{
    return received == 0 || (received < 0 && error != EAGAIN && error != EINTR);
}

frame_reader::step refused(frame_guard::verdict&& verdict)
{
    return {.next = frame_reader::action::refuse, .fault = "the server sent " + verdict.why};
}

} // namespace

void frame_reader::sent(const call& c)
{
    if (guard_.outstanding() == 0) {
        unanswered_since_ = clock::now();
    }
    guard_.sent(c);
}

bool frame_reader::has_unread(int socket) const noexcept
{
    int bytes = 0;
    return checked_ != 0 || (::ioctl(socket, FIONREAD, &bytes) == 0 && bytes > 0);
}

frame_reader::step frame_reader::read(int socket)
{
    if (checked_ != 0) {
        --checked_;
        return {.next = action::read, .more = checked_ != 0};
    }
    // The answer to the handshake is always taken out: the C client wants 41 bytes, also when it has only 40.
    return taken_out_.empty() && !guard_.in_handshake() ? look_ahead(socket) : take_out(socket);
}

frame_guard::verdict frame_reader::check(std::string_view bytes)
{
    const auto outstanding = guard_.outstanding();
    auto verdict = guard_.look(bytes);
    if (guard_.outstanding() != outstanding) {
        unanswered_since_ = clock::now();
    }
    return verdict;
}

// What lies whole in the socket is checked there, and the C client reads it from there.
frame_reader::step frame_reader::look_ahead(int socket)
{
    char bytes[32 * 1024];
    const auto count = ::recv(socket, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    if (count <= 0) {
        return {.next = is_over(count, errno) ? action::read : action::none};
    }
    std::string_view rest{bytes, static_cast<std::size_t>(count)};
    while (!rest.empty()) {
        auto verdict = check(rest);
        if (verdict.found == frame_guard::finding::refused) {
            return refused(std::move(verdict));
        }
        if (verdict.found == frame_guard::finding::partial) {
            break;
        }
        ++checked_;
        rest.remove_prefix(verdict.size);
    }
    if (checked_ == 0) {
        return take_out(socket);
    }
    --checked_;
    return {.next = action::read, .more = checked_ != 0 || !rest.empty()};
}

// A frame that is not whole in the socket, or does not fit there, is taken out piece by piece. The C client must not
// read a part of it: the rest could come between the look and the read, unchecked.
frame_reader::step frame_reader::take_out(int socket)
{
    constexpr std::size_t most_a_turn = 1 << 20;
    constexpr std::size_t piece = 64 * 1024;
    for (std::size_t taken = 0; taken < most_a_turn;) {
        auto verdict = check(taken_out_);
        if (verdict.found == frame_guard::finding::refused) {
            return refused(std::move(verdict));
        }
        if (verdict.found == frame_guard::finding::whole) {
            auto frame = std::exchange(taken_out_, {});
            return {.next = action::hand_over,
                    .more = true,
                    .frame = verdict.excessive ? frame_guard::curtailed(frame) : std::move(frame)};
        }
        const auto have = taken_out_.size();
        taken_out_.resize(std::min(verdict.size, have + piece));
        const auto count =
            ::recv(socket, taken_out_.data() + have, taken_out_.size() - have, MSG_DONTWAIT);
        const int error = errno;
        taken_out_.resize(have + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        if (is_over(count, error)) {
            return {.next = action::read,
                    .fault = have != 0 ? "the connection ended within a frame" : ""};
        }
        if (count < 0) {
            return {};
        }
        taken += static_cast<std::size_t>(count);
    }
    return {}; // others have their turn; there is more in the socket
}

} // namespace colock::zk
