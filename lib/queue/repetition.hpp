// Which commands of a contender repeat what was in vain.
#pragma once

#include "queue/command.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace colock::protocol {

// A server may answer so that the contender repeats itself, again and again: because the server is too busy, because
// somebody interferes each time, or because it lies. The contender has no clock, and knows no pauses. running_contender asks
// here before each command, and asks its pacer before a repetition.
//
// A repetition is a request that the same answer, or event, could provoke again, without end:
// - what follows from a refusal: the server was too busy, say;
// - what follows from a watch that fires: a node may change as often as somebody likes;
// - the directory, which has to be made;
// - a create in a queue, unless it is the first one, or the directory was made for it: a contender needs one node only.
//   Without a queue a node that exists may be another one each time;
// - a listing of one that stands by until the queue is empty;
// - what follows from a node that cannot be watched, because it is gone.
// What makes progress is none. In a queue no node comes back: so many nodes can go as have been before the own one. Without
// a queue it is progress to see the node of another client, which is younger than all that were seen before.
class repetition {
public:
    enum class cause : std::uint8_t { none, refusal, event };

    explicit repetition(bool has_queue) noexcept : has_queue_{has_queue} {}

    // An answer; the commands that follow from it are asked about next.
    void answered(const error_code& ec);
    // The same of the answer to `watch`. Returns true when the contender made progress: the next pause is the first again.
    // `czxid`: of the node, if it is there.
    [[nodiscard]] bool watched(const error_code& ec, std::int64_t czxid);
    // A watch has fired; the commands that follow are asked about next.
    void fired(bool deleted);
    // The commands that follow do not come of that answer, or event.
    void forget_answer() noexcept { follows_ = cause::none; }
    // So many contenders are before the own node.
    void blocked_by(std::size_t count) noexcept;

    // To be asked once for each request, in their order.
    [[nodiscard]] cause is_repetition(command::kind type) noexcept;

private:
    // Whether a node that has gone makes one less.
    [[nodiscard]] bool one_less() noexcept;

    bool has_queue_;
    cause follows_ = cause::none; // what follows from the last answer, or event, is a repetition
    bool has_created_ = false;    // a create was sent
    bool made_directory_ = false; // after the last create
    // In a queue: how many nodes before the own one may still go, once that is known.
    std::optional<std::size_t> left_ = {};
    // Without a queue: the youngest node of another client that was seen; and whether its end was not seen yet.
    std::int64_t youngest_ = 0; // its czxid
    bool is_new_ = false;
};

} // namespace colock::protocol
