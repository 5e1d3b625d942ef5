#include "run/guarded_session.hpp"

#include "connect/server_options.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace colock::cli {

namespace {

// Beside this program, as a build has it, or where it was installed.
std::string session_guard_program()
{
    std::error_code failed;
    auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
    const auto beside = self.replace_filename("colock-session-guard");
    return !failed && std::filesystem::exists(beside, failed) ? beside.string()
                                                              : installed_session_guard();
}

} // namespace

client_options guarded(client_options servers, int consent)
{
    if (servers.sasl.mechanism.empty()) { // else the guard could not prove who it is
        servers.session_guard = {session_guard_program(), consent};
    }
    return servers;
}

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
