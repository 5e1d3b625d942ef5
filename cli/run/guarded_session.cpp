#include "run/guarded_session.hpp"

#include "connect/server_options.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace colock::cli {

namespace {

namespace fs = std::filesystem;

// From the file's directory up to one that has the program, too, strangers can put nothing: not in /tmp.
bool is_as_safe_as(const fs::path& program, const fs::path& file)
{
    auto directory = file.parent_path();
    for (;;) {
        std::error_code failed;
        const auto rights = fs::status(directory, failed).permissions();
        if (failed || (rights & (fs::perms::others_write | fs::perms::sticky_bit)) != fs::perms{}) {
            return false;
        }
        if (*program.lexically_relative(directory).begin() != "..") {
            return true;
        }
        directory = directory.parent_path();
    }
}

// Beside this program, as a build has it; in the same prefix, which may have been moved; or where it was installed.
std::string session_guard_program()
{
    std::error_code failed;
    const auto self = fs::read_symlink("/proc/self/exe", failed);
    for (const auto* const place : {"colock-session-guard", COLOCK_PLACE_OF_GUARD}) {
        const auto guard = (self.parent_path() / place).lexically_normal();
        if (!self.empty() && fs::exists(guard, failed) && is_as_safe_as(self, guard)) {
            return guard.string();
        }
    }
    return installed_session_guard();
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
