// Who waits for whom, over several locks, and whether it goes round in a circle.
#pragma once

#include "look/look_at.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace colock::cli {

// An entry of one of the locks.
struct contender_ref {
    const seen_lock* lock = nullptr;
    const queue_entry* entry = nullptr;
};

// A shortest circle in which each one waits for the next one, and the last one for the first, among those for which a
// contender of the first `asked_for` locks waits; empty when there is none.
//
// A waiter waits for those before it that block it. A holder goes on when what it waits for elsewhere has come: that of the
// same session, or of the same process by the owner data, in the queue of another lock; and what runs under its node,
// `owner_info::under`. A waiter of a semaphore that several hold waits for
// them only when all permits are held and none of the holders can go on.
[[nodiscard]] std::vector<contender_ref> find_deadlock(const std::vector<seen_lock>& locks,
                                                       std::size_t asked_for);

// "a:1 (x) holds /a and waits for /b; b:2 (y) holds /b and waits for /a"
[[nodiscard]] std::string deadlock_words(const std::vector<contender_ref>& circle);

} // namespace colock::cli
