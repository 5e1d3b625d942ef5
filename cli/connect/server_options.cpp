#include "connect/server_options.hpp"

#include <colock/log.hpp>

#include "connect/duration.hpp"
#include "connect/tls_context.hpp"
#include "program/failure.hpp"
#include "program/settings.hpp"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

namespace colock::cli {

namespace {

// "digest user:password", one identity a line. Empty lines and those that begin with # say nothing.
std::vector<credential> read_credentials(std::istream& in, const std::string& from)
{
    std::vector<credential> all;
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
        if (line.ends_with('\r')) {
            line.pop_back();
        }
        if (line.empty() || line.starts_with('#')) {
            continue;
        }
        const auto blank = line.find(' ');
        if (blank == 0 || blank == line.npos || blank + 1 == line.size()) {
            throw failure{usage, from + ", line " + std::to_string(number) +
                                     ": write a scheme, a blank and the secret, such as "
                                     "\"digest user:password\""};
        }
        all.push_back({line.substr(0, blank), line.substr(blank + 1)});
    }
    return all;
}

std::vector<credential> credentials_of(const server_options& options)
{
    if (!options.auth_file.empty()) {
        return credentials_in(options.auth_file, "--auth");
    }
    if (const char* const secret = std::getenv("COLOCK_AUTH")) {
        std::istringstream text{secret};
        return read_credentials(text, "COLOCK_AUTH");
    }
    return {};
}

// The user for SASL stands among the credentials, which the servers do not take for it.
sasl_options take_sasl(const std::string& mechanism, std::vector<credential>& from)
{
    std::string known;
    std::erase_if(from, [&](const credential& c) {
        const bool is_user = c.scheme == "sasl";
        if (is_user) {
            known = c.secret;
        }
        return is_user;
    });
    if (mechanism.empty()) {
        return {};
    }
    if (mechanism == "gssapi") {
        return {.mechanism = "GSSAPI"};
    }
    if (mechanism != "digest-md5") {
        throw failure{usage, "--sasl is digest-md5 or gssapi, not \"" + mechanism + '"'};
    }
    const auto colon = known.find(':');
    if (colon == known.npos) {
        throw failure{usage, "--sasl digest-md5 needs a line \"sasl user:password\" in the file of "
                             "--auth, or in COLOCK_AUTH"};
    }
    return {.mechanism = "DIGEST-MD5",
            .user = known.substr(0, colon),
            .secret = [password = known.substr(colon + 1)] { return password; }};
}

// As others that read secrets have it: a file of root may be for a group.
void warn_of_exposed(const std::string& file, const std::string& option, const warn& of)
{
    struct stat about {};
    if (file.empty() || ::stat(file.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) {
        return; // a pipe has its two ends
    }
    const ::mode_t others =
        about.st_uid == 0 ? S_IROTH | S_IWOTH | S_IWGRP : S_IROTH | S_IWOTH | S_IRGRP | S_IWGRP;
    if ((about.st_mode & others) != 0) {
        of("others on this machine can read or change " + file + ", the file of " + option +
           "; chmod 600 keeps it to its owner");
    }
}

// Whoever can change it chooses the servers to which the client shows its identity.
void warn_of_open_settings(const std::string& file, const warn& of)
{
    struct stat about {};
    if (::stat(file.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
        (about.st_mode & S_IWOTH) != 0) {
        of("others on this machine can change " + file + ", a file of settings; chmod o-w " + file +
           " keeps them out");
    }
}

} // namespace

bool shows_identity(const client_options& options)
{
    return !options.credentials.empty() || options.tls || !options.sasl.mechanism.empty();
}

std::vector<credential> credentials_in(const std::string& name, const std::string& option)
{
    const auto form = "; " + option + " names a file with a line \"digest user:password\"";
    std::ifstream file{name};
    if (!file) {
        throw failure{usage, "cannot read " + name + ": " + std::strerror(errno) + form};
    }
    auto all = read_credentials(file, name);
    if (file.bad() || all.empty()) {
        throw failure{usage, name + (file.bad() ? " cannot be read" : " is empty") + form};
    }
    return all;
}

void warn_on_standard_error(const std::string& text)
{
    std::cerr << "colock: " << printable(text) << '\n';
}

void add_server_options(CLI::App& to, server_options& options)
{
    const auto before = to.get_options();
    to.add_option("--servers", options.servers, "the servers, \"host:port,...\", and the chroot")
        ->envname("COLOCK_SERVERS")
        ->type_name("HOSTS")
        ->capture_default_str();
    add_duration(to, "--session-timeout", options.session_timeout,
                 "how long the servers keep the locks of a client that they do not hear from")
        ->default_str("15s");
    add_duration(to, "--connect-timeout", options.connect_timeout,
                 "how long to try to reach a server; 10 s unless told")
        ->envname("COLOCK_CONNECT_TIMEOUT");
    add_duration(to, "--tick", options.tick, "tickTime of the servers; `colock doctor` tells it")
        ->envname("COLOCK_TICK")
        ->default_str("2s");
    to.add_option("--auth", options.auth_file,
                  "a file with who we are, a line \"digest user:password\" each; "
                  "without it COLOCK_AUTH may hold such a line")
        ->envname("COLOCK_AUTH_FILE")
        ->type_name("FILE");
    to.add_option(
          "--sasl", options.sasl,
          "who we are by SASL: digest-md5, with a line \"sasl user:password\" in the file of "
          "--auth; or gssapi, with a ticket of Kerberos")
        ->envname("COLOCK_SASL")
        ->type_name("digest-md5|gssapi");
    to.add_flag("--tls", options.tls, "speak TLS, with the system's authorities")
        ->envname("COLOCK_TLS");
    to.add_option("--tls-ca", options.tls_ca, "speak TLS, and trust the authorities in this file")
        ->envname("COLOCK_TLS_CA")
        ->type_name("FILE");
    to.add_option("--tls-cert", options.tls_cert, "our certificate, and its chain")
        ->envname("COLOCK_TLS_CERT")
        ->type_name("FILE");
    to.add_option("--tls-key", options.tls_key,
                  "its key; COLOCK_TLS_KEY_PASSWORD may hold the key's password")
        ->envname("COLOCK_TLS_KEY")
        ->type_name("FILE");
    to.add_option("--tls-server-name", options.tls_server_name,
                  "the name that the servers' certificates have to be for")
        ->envname("COLOCK_TLS_SERVER_NAME")
        ->type_name("NAME");
    to.add_option("--tls-verify", options.tls_verify,
                  "what the servers' certificates are checked for")
        ->envname("COLOCK_TLS_VERIFY")
        ->type_name("full|any-name|off")
        ->capture_default_str();
    to.add_option("--config", options.config,
                  "a file of settings, in place of /etc/colock.conf and ~/.config/colock.conf")
        ->envname("COLOCK_CONFIG")
        ->type_name("FILE");
    for (auto* option : to.get_options()) {
        if (std::ranges::find(before, option) == before.end()) {
            option->group("Servers and identity");
        }
    }
}

void add_admin_port(CLI::App& to, std::string& port)
{
    to.add_option("--admin-port", port, "the port of the servers' AdminServers; 0: do not ask them")
        ->type_name("PORT")
        ->capture_default_str();
}

client_options to_client_options(const server_options& options, const warn& of)
{
    client_options c;
    if (const auto scheme = options.servers.find("://"); scheme != options.servers.npos) {
        throw failure{usage, "--servers is \"" + options.servers + "\"; write the servers alone, " +
                                 "without \"" + options.servers.substr(0, scheme) +
                                 "://\", such as \"host:port,host:port/chroot\""};
    }
    const auto slash = options.servers.find('/');
    c.hosts = options.servers.substr(0, slash);
    if (slash != options.servers.npos) {
        c.chroot = options.servers.substr(slash);
    }
    c.session_timeout = options.session_timeout;
    c.connect_timeout = options.connect_timeout.value_or(std::chrono::seconds{10});
    c.tick = options.tick;
    c.credentials = credentials_of(options);
    const auto all = c.credentials.size();
    c.sasl = take_sasl(options.sasl, c.credentials);
    if (options.sasl.empty() && c.credentials.size() != all) {
        of("the line \"sasl\" of --auth or COLOCK_AUTH counts with --sasl digest-md5 only");
    }
    add_tls(c, options);
    for (const auto& file : settings_files(options.config)) {
        warn_of_open_settings(file, of);
    }
    warn_of_exposed(options.auth_file, "--auth", of);
    warn_of_exposed(options.tls_key, "--tls-key", of);
    return c;
}

} // namespace colock::cli
