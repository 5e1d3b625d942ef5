// The contenders before a client's own, as far as the client knows them: for people.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace colock::detail {

struct contenders_ahead {
    // How many block it. Unknown where there is no queue, or no place in it yet.
    std::optional<std::size_t> count = {};
    // The client watches each of them. Else some may have gone since it listed the queue.
    bool all_watched = false;
    // The data of the node that has the lock, when that is watched and was read.
    std::optional<std::string> holder = {};
    // The path of that node, also while its data are not known.
    std::string holder_node = {};
    // An answer on its way tells more.
    bool asking = false;
    // It waits without a place until the queue is empty, because the sequence numbers run out.
    bool stands_by = false;

    friend bool operator==(const contenders_ahead&, const contenders_ahead&) = default;
};

// More of a node's data is not kept.
inline constexpr std::size_t most_of_owner_data = 200;

} // namespace colock::detail
