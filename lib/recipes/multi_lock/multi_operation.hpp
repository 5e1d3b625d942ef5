// One operation of a multi_lock: carries out the commands of protocol::joint_acquisition.
#pragma once

#include <colock/detail/deadline.hpp>
#include <colock/multi_guard.hpp>

#include "recipes/multi_lock/lock_list.hpp"

#include <memory>

namespace colock::detail {

// On the strand. Completes with the guard of all the locks of the list, in the order of the user; or without one.
void lock_together(operation_ptr<error_code, multi_guard> op, std::shared_ptr<const lock_list> list,
                   deadline until);

} // namespace colock::detail
