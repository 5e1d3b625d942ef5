#ifndef COLOCK_TEST_SUPPORT_SASL_SERVERS_HPP
#define COLOCK_TEST_SUPPORT_SASL_SERVERS_HPP

#include <support/zookeeper_server.hpp>

#include <chrono>
#include <fstream>
#include <string>

namespace colock::test {

/// A server that asks by SASL. `login`: the module of JAAS that knows the users, and its settings. It stands in a file in this
/// directory, which outlives the server.
inline zookeeper_options asks_by_sasl(const std::string& directory, const std::string& login)
{
    const auto file = directory + "/jaas.conf";
    std::ofstream{file} << "Server {\n " << login << ";\n};\n";
    zookeeper_options options;
    options.tick_time = std::chrono::milliseconds{500};
    options.jvm_flags = {"-Djava.security.auth.login.config=" + file,
                         "-Dzookeeper.authProvider.sasl=org.apache.zookeeper.server.auth."
                         "SASLAuthenticationProvider"};
    return options;
}

/// By DIGEST-MD5. `users`: user_NAME="PASSWORD", as often as there are users.
inline zookeeper_options knows_users(const std::string& directory, const std::string& users)
{
    return asks_by_sasl(directory,
                        "org.apache.zookeeper.server.auth.DigestLoginModule required " + users);
}

/// The same server serves nobody else.
inline zookeeper_options and_nobody_else(zookeeper_options options)
{
    options.jvm_flags.emplace_back("-Dzookeeper.enforce.auth.enabled=true");
    options.jvm_flags.emplace_back("-Dzookeeper.enforce.auth.schemes=sasl");
    return options;
}

} // namespace colock::test

#endif
