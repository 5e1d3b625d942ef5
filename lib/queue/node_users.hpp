// What those who share a contender note in it, under a mutex of theirs.
#pragma once

#include "report/telemetry.hpp"

#include <boost/container/flat_map.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace colock::detail {

struct node_users {
    std::size_t users = 0; // who hold the lock by it
    // Their holds that the client's observer is to hear the end of, by turn. Turns ascend. Null where nobody observes: each
    // contender has this.
    std::unique_ptr<boost::container::flat_map<std::uint64_t, observed_hold>> observed;
    bool was_idle = false; // nobody did when it was lost
    bool loss_counted = false;
    bool is_left = false; // by all of them, and there was no memory to tell the strand
};

} // namespace colock::detail
