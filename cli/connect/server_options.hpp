// Which servers, and who we are there: the options that every command has.
#pragma once

#include <colock/client_options.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI { // NOLINT(readability-identifier-naming): CLI11 calls itself so
class App;
}

namespace colock::cli {

// What stands on the command line, in the environment, or in a file of settings. Secrets come from files or the environment only: whoever is on
// the machine can read the command line.
struct server_options {
    std::string config; // a file of settings, in place of those of the system and of the user
    std::string servers = "localhost:2181"; // with the chroot behind them
    std::chrono::milliseconds session_timeout = std::chrono::seconds{15};
    std::optional<std::chrono::milliseconds> connect_timeout; // else 10 s
    std::chrono::milliseconds tick = std::chrono::seconds{2};
    std::string auth_file;
    std::string sasl; // the mechanism, in small letters
    bool tls = false;
    std::string tls_ca;
    std::string tls_cert;
    std::string tls_key;
    std::string tls_server_name;
    std::string tls_verify = "full";
};

void add_server_options(CLI::App& to, server_options& options);
// For commands that also ask the AdminServers what they know of sessions.
void add_admin_port(CLI::App& to, std::string& port);

// Whether the client says who it is, by which of the ways does not matter.
[[nodiscard]] bool shows_identity(const client_options& options);

// The identities in a file, one a line, as this option takes it. Throws failure when that cannot be read, or has none.
[[nodiscard]] std::vector<credential> credentials_in(const std::string& file,
                                                     const std::string& option);

// The variables that hold secrets.
inline constexpr std::array secret_variables{"COLOCK_AUTH", "COLOCK_TLS_KEY_PASSWORD"};

// Gets one line.
using warn = std::function<void(const std::string& text)>;
void warn_on_standard_error(const std::string& text);

// Reads the files, and the environment for secrets. Warns of files that others can read. Throws failure when that cannot be
// done, or options contradict each other.
[[nodiscard]] client_options to_client_options(const server_options& options,
                                               const warn& of = warn_on_standard_error);

} // namespace colock::cli
