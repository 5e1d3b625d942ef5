// What a command gets to know of the session, and what it does not.
#pragma once

#include "run/holding.hpp"

#include <string>

namespace colock::cli {

// For COLOCK_SAFE_UNTIL.
[[nodiscard]] std::string safe_until_text(const holding& held);

// Commands inherit the environment of this process: takes the variables that hold secrets out of it.
void forget_secrets();

} // namespace colock::cli
