// What a session guard hands to its module, once the owner is dead.
#pragma once

#include "guard/guarded_session.hpp"
#include "guard/rules.hpp"
#include "guard/tls_material.hpp"

#include <vector>

namespace colock::guard {

struct ending {
    guarded_session session;
    tls_material tls;
    rules::time until; // then the servers have ended it by its time-out
};

// The module's `colock_end_sessions`. The process exits once they are over.
using end_sessions_and_exit = void(std::vector<ending>& all);

} // namespace colock::guard
