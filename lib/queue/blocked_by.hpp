// The contenders before one that waits, as far as it knows them: for people. Sans-io.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace colock::protocol {

struct blocked_by {
    // How many contenders block it. Unknown where there is no queue, or no place in it yet.
    std::optional<std::size_t> count = {};
    // It watches each of them. Else some may have gone since it listed the queue.
    bool all_watched = false;
    // The name of the node that has the lock, when this contender watches it.
    std::optional<std::string_view> holder = {};
    // It waits without a place until the queue is empty, because the sequence numbers run out.
    bool stands_by = false;
};

} // namespace colock::protocol
