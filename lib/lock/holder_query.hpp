// Asks the servers who is first in a queue: for the log, and seldom.
#pragma once

#include <colock/layout.hpp>

#include "lock/waiting_words.hpp"
#include "session/core.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace colock::detail {

// On the strand, as is `then`; perhaps before this returns. Two reads, which are not repeated: nothing is found when the
// connection breaks, when the queue is empty, or when it may not be read. `own_name`: of the contender whose place is
// asked for, too; or empty.
void ask_first_in_queue(const std::shared_ptr<client_core>& core, const std::string& directory,
                        const layout& l, std::string own_name,
                        std::function<void(std::optional<asked_holder>)> then);

} // namespace colock::detail
