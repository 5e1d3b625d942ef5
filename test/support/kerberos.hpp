#ifndef COLOCK_TEST_SUPPORT_KERBEROS_HPP
#define COLOCK_TEST_SUPPORT_KERBEROS_HPP

#include <support/loopback_port.hpp>
#include <support/sasl_servers.hpp>
#include <support/subprocess.hpp>
#include <support/temporary_directory.hpp>
#include <support/wait_until.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace colock::test {

/// A realm of Kerberos with its key server (MIT's), for this process and those that it starts.
class kerberos {
public:
    /// With these users, and the server zookeeper/localhost.
    explicit kerberos(const std::vector<std::string>& users)
    {
        move_to(port_.number());
        const auto address = port_.address();
        std::ofstream{files.path() + "/kdc.conf"}
            << "[kdcdefaults]\n kdc_listen = " << address << "\n kdc_tcp_listen = " << address
            << "\n[realms]\n " << realm << " = {\n  database_name = " << files.path()
            << "/principal\n  key_stash_file = " << files.path() << "/stash\n }\n";
        ::setenv("KRB5_CONFIG", (files.path() + "/krb5.conf").c_str(), 1);
        ::setenv("KRB5_KDC_PROFILE", (files.path() + "/kdc.conf").c_str(), 1);
        ::setenv("KRB5CCNAME", tickets().c_str(), 1);
        run({"kdb5_util", "create", "-s", "-r", realm, "-P", "master"});
        add("zookeeper/localhost", keys_of("server"));
        for (const auto& who : users) {
            add(who, keys_of(who));
        }
        server_.emplace(std::vector<std::string>{"krb5kdc", "-n", "-r", realm});
        if (!wait_until([this] { return port_.occupied(); }, std::chrono::seconds{10})) {
            throw std::runtime_error("krb5kdc does not listen");
        }
    }

    /// A file of keys.
    [[nodiscard]] std::string keys_of(const std::string& who) const
    {
        return files.path() + '/' + who + ".keytab";
    }

    /// For KRB5CCNAME: where the tickets of this process are, or others.
    [[nodiscard]] std::string tickets(const std::string& which = "own") const
    {
        return "FILE:" + files.path() + "/tickets." + which;
    }
    void give_a_ticket(const std::string& who,
                       std::chrono::seconds lifetime = std::chrono::seconds{600},
                       const std::string& which = "own") const
    {
        run({"kinit", "-c", tickets(which), "-l", std::to_string(lifetime.count()) + "s", "-k",
             "-t", keys_of(who), who});
    }
    void take_tickets() const { run({"kdestroy", "-q", "-c", tickets()}); }

    /// From now on programs look for the key server at this port.
    void move_to(std::uint16_t port) const
    {
        std::ofstream{files.path() + "/krb5.conf"}
            << "[libdefaults]\n default_realm = " << realm
            << "\n dns_lookup_kdc = false\n dns_canonicalize_hostname = false\n"
               " rdns = false\n udp_preference_limit = 1\n[realms]\n "
            << realm << " = {\n  kdc = 127.0.0.1:" << port << "\n }\n";
    }

    [[nodiscard]] zookeeper_options server_options() const
    {
        auto options = asks_by_sasl(
            files.path(), "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true"
                          " storeKey=true useTicketCache=false keyTab=\"" +
                              keys_of("server") + "\" principal=\"zookeeper/localhost@" + realm +
                              '"');
        options.jvm_flags.push_back("-Djava.security.krb5.conf=" + files.path() + "/krb5.conf");
        return options;
    }

    const std::string realm = "COLOCK.TEST";
    const temporary_directory files;

private:
    static void run(const std::vector<std::string>& command)
    {
        subprocess program{command, {.capture_output = true}};
        if (!program.wait().success()) {
            throw std::runtime_error(command.front() + " failed");
        }
    }
    void add(const std::string& who, const std::string& file) const
    {
        run({"kadmin.local", "-r", realm, "-q", "addprinc -randkey " + who});
        run({"kadmin.local", "-r", realm, "-q", "ktadd -k " + file + ' ' + who});
    }

    const loopback_port port_;
    std::optional<subprocess> server_;
};

} // namespace colock::test

#endif
