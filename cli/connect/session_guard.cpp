#include "connect/session_guard.hpp"

#include <colock/log.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

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

client_options guarded(client_options servers, int consent, warn without_one)
{
    if (servers.sasl.mechanism.empty()) { // else the guard could not prove who it is
        servers.session_guard = {session_guard_program(), consent};
        servers.log_threshold = log_level::warning;
        servers.log = [say = std::move(without_one),
                       last = std::string{}](log_level, std::string_view line) mutable {
            // The client tries again and again, and each time says why it fails.
            if (line.starts_with("no session guard: ") && line != last) {
                last = line;
                say(last);
            }
        };
    }
    return servers;
}

} // namespace colock::cli
