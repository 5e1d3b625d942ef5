#include "zk/frame_reader.hpp"

#include <algorithm>
#include <utility>

namespace colock::zk {

namespace {

constexpr std::size_t most_a_turn = 1 << 20;

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

frame_reader::step frame_reader::read(wire& from)
{
    if (checked_ != 0) {
        --checked_;
        return {.next = action::read, .more = checked_ != 0};
    }
    if (to_skip_ != 0) {
        return skip(from);
    }
    // The answer to the handshake is always taken out: the C client wants 41 bytes, also when it has only 40.
    const bool looks = from.is_direct() && taken_out_.empty() && !guard_.in_handshake();
    return looks ? look_ahead(from) : take_out(from);
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
frame_reader::step frame_reader::look_ahead(wire& from)
{
    char bytes[32 * 1024];
    const auto there = from.look(bytes, sizeof bytes);
    if (there.count == 0) {
        return {.next = there.over ? action::read : action::none};
    }
    std::string_view rest{bytes, there.count};
    while (!rest.empty()) {
        auto verdict = check(rest);
        if (verdict.found == frame_guard::finding::refused) {
            return refused(std::move(verdict));
        }
        if (verdict.found != frame_guard::finding::whole) {
            break;
        }
        ++checked_;
        rest.remove_prefix(verdict.size);
    }
    if (checked_ == 0) {
        return take_out(from);
    }
    --checked_;
    return {.next = action::read, .more = checked_ != 0 || !rest.empty()};
}

// A frame that is not whole in the socket, or does not fit there, is taken out piece by piece. The C client must not
// read a part of it: the rest could come between the look and the read, unchecked.
frame_reader::step frame_reader::take_out(wire& from)
{
    constexpr std::size_t piece = std::size_t{64} * 1024;
    for (std::size_t taken = 0; taken < most_a_turn;) {
        auto verdict = check(taken_out_);
        if (verdict.found == frame_guard::finding::refused) {
            return refused(std::move(verdict));
        }
        if (verdict.found == frame_guard::finding::whole) {
            auto frame = std::exchange(taken_out_, {});
            return {.next = action::hand_over,
                    .more = from.is_direct() || from.holds_unread(),
                    .frame = verdict.excessive ? frame_guard::curtailed(frame) : std::move(frame)};
        }
        if (verdict.found == frame_guard::finding::endless) {
            const auto head = std::exchange(taken_out_, {});
            to_skip_ = verdict.size - head.size();
            unanswered_since_ = clock::now();
            return {.next = action::hand_over, .more = true, .frame = guard_.cut_off(head)};
        }
        const auto have = taken_out_.size();
        taken_out_.resize(std::min(verdict.size, have + piece));
        const auto came = from.receive(taken_out_.data() + have, taken_out_.size() - have);
        taken_out_.resize(have + came.count);
        if (came.over) {
            return end_of(from, have != 0);
        }
        if (came.count == 0) {
            return {};
        }
        taken += came.count;
    }
    return {}; // others have their turn; there is more to receive
}

frame_reader::step frame_reader::skip(wire& from)
{
    char bytes[32 * 1024];
    for (std::size_t taken = 0; to_skip_ != 0 && taken < most_a_turn;) {
        const auto came = from.receive(bytes, std::min(sizeof bytes, to_skip_));
        if (came.over) {
            return end_of(from, true);
        }
        if (came.count == 0) {
            break;
        }
        to_skip_ -= came.count;
        taken += came.count;
    }
    return {.more = to_skip_ == 0};
}

frame_reader::step frame_reader::end_of(wire& from, bool within_frame)
{
    auto fault = from.fault().text;
    if (fault.empty() && within_frame) {
        fault = "the connection ended within a frame";
    }
    // The C client reads the end itself where it can.
    return {.next = from.is_direct() ? action::read : action::refuse, .fault = std::move(fault)};
}

} // namespace colock::zk
