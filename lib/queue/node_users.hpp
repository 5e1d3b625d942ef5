// What those who share a contender note in it, under a mutex of theirs.
#pragma once

#include "report/open_holds.hpp"

#include <cstddef>

namespace colock::detail {

struct node_users {
    std::size_t users = 0; // who hold the lock by it
    open_holds observed;   // of the users
    bool was_idle = false; // nobody did when it was lost
    bool loss_counted = false;
    bool is_left = false; // by all of them, and there was no memory to tell the strand
};

} // namespace colock::detail
