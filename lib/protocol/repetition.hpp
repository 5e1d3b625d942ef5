// Which commands of a contender repeat a request that has failed.
#pragma once

#include "command.hpp"

#include <string>
#include <string_view>

namespace colock::protocol {

// A server may answer so that the contender repeats itself, again and again: because the server is too busy, because
// somebody interferes each time, or because it lies. The contender has no clock, and knows no pauses. Its driver asks here
// before each command, and pauses before a repetition.
//
// A repetition is a request that the same answer could provoke again, without end:
// - what the server was too busy to carry out;
// - the directory, which has to be made;
// - a create in a queue, unless it is the first one, or the directory was made for it: a contender needs one node only.
//   Without a queue a node that exists may be another one each time;
// - a read of the directory behind one that did not find it;
// - what follows from a node that cannot be watched, because it is gone. Without a queue that is each time; in a queue it
//   is when the node was not there the last time either: no node comes back.
class repetition {
public:
    explicit repetition(bool has_queue) noexcept : has_queue_{has_queue} {}

    // The answer to a command; the commands that follow from it are asked about next. Returns true when the contender made
    // progress. Then the next pause is the first again. Only a contender without a queue can: it has seen that another
    // client holds the lock.
    [[nodiscard]] bool answered(command::kind to, std::string_view name, const error_code& ec);
    // The commands that follow do not come of that answer.
    void forget_answer() noexcept { last_answer_failed_ = false; }

    // To be asked once for each request, in their order.
    [[nodiscard]] bool is_repetition(command::kind type) noexcept;

private:
    bool has_queue_;
    bool last_answer_failed_ = false; // what follows from it is a repetition
    bool has_created_ = false;        // a create was sent
    bool made_directory_ = false;     // behind the last create
    bool directory_gone_ = false;     // it was not there when it was read last
    std::string missing_ = {};        // the last node that was to be watched, and was not there
};

} // namespace colock::protocol
