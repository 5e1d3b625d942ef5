// The session guard of this program: it ends the session once this process has been killed.
#pragma once

#include <colock/client_options.hpp>

#include "connect/server_options.hpp"

namespace colock::cli {

// The options with a guard, but for SASL. `consent`: as in session_guard_options. `without_one`: hears why there is no guard,
// on the client's strand; when it changes, again.
[[nodiscard]] client_options guarded(client_options servers, int consent, warn without_one);

} // namespace colock::cli
