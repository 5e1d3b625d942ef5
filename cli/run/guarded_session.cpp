#include "run/guarded_session.hpp"

#include "connect/server_options.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace colock::cli {

std::string safe_until_text(const holding& held)
{
    const auto until = std::chrono::system_clock::now().time_since_epoch() + held.remaining();
    char text[40];
    std::snprintf(text, sizeof text, "%.3f", std::chrono::duration<double>(until).count());
    return text;
}

void forget_secrets()
{
    for (const char* const name : secret_variables) {
        ::unsetenv(name);
    }
}

} // namespace colock::cli
