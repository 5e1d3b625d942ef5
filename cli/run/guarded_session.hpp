// A session that a guard ends when this process is killed, and nothing is left of its commands.
#pragma once

#include <colock/client_options.hpp>

#include "run/holding.hpp"

#include <string>

namespace colock::cli {

// `consent`: as in session_guard_options.
[[nodiscard]] client_options guarded(client_options servers, int consent);

// For COLOCK_SAFE_UNTIL.
[[nodiscard]] std::string safe_until_text(const holding& held);

// Commands inherit the environment of this process: takes the variables that hold secrets out of it.
void forget_secrets();

} // namespace colock::cli
