// `colock doctor` and the certificates that servers show.
#include <support/certificates.hpp>
#include <support/run.hpp>
#include <support/subprocess.hpp>
#include <support/temporary_directory.hpp>
#include <support/zookeeper_server.hpp>

#include "connect/tls_question.hpp"
#include "doctor_findings.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace colock::test::health_certificates_test {

BOOST_AUTO_TEST_SUITE(health_certificates)

BOOST_AUTO_TEST_CASE(certificates_are_looked_at)
{
    const auto authority = std::make_shared<const certificate_authority>();
    zookeeper_options options;
    options.tls = authority;
    const zookeeper_server secure{options};
    const auto own = authority->issue({.name = "client"});
    const std::vector<std::string> ours{
        "--tls-ca", authority->certificate_file(), "--tls-cert", own.file, "--tls-key", own.key};
    const auto l = look(secure.secure_connect_string(), ours);
    BOOST_TEST(l.status == 0);
    BOOST_TEST(has(l.about("certificate"), "CN="), l.about("certificate"));
    BOOST_TEST(has(l.about("certificate"), "is for this name"), l.about("certificate"));
    BOOST_TEST(has(l.about("certificate"), "ours: CN=client"), l.about("certificate"));
    BOOST_TEST(has(l.about("leader"), "warning: one server alone"), l.about("leader"));
    BOOST_TEST(has(l.about("tick"), "ok: tickTime is 2.0 s, as clients are told"), l.about("tick"));

    auto named = ours;
    named.insert(named.end(), {"--tls-server-name", "zk1.example"});
    const auto misnamed = look(secure.secure_connect_string(), named);
    BOOST_TEST(misnamed.status == 1);
    BOOST_TEST(has(misnamed.about("certificate"), "error: "));
    BOOST_TEST(has(misnamed.about("certificate"), "is not for this name"));

    const certificate_authority foreign;
    auto others = ours;
    others[1] = foreign.certificate_file();
    const auto distrusted = look(secure.secure_connect_string(), others);
    BOOST_TEST(distrusted.status == 1);
    BOOST_TEST(has(distrusted.about("certificate"), "is not to be trusted: "));

    // `--tls-verify` decides what is checked.
    const auto verified = [&](std::vector<std::string> given, const char* how) {
        given.insert(given.end(), {"--tls-verify", how});
        auto run = given;
        run.insert(run.begin(), "run");
        run.insert(run.end(), {"/verified", "--", "true"});
        const auto status = run_colock(secure.secure_connect_string(), run).status;
        BOOST_TEST(look(secure.secure_connect_string(), given).status == (status != 0));
        return status;
    };
    BOOST_TEST(verified(named, "full") == 121);
    BOOST_TEST(verified(named, "any-name") == 0);
    BOOST_TEST(verified(others, "any-name") == 121);
    BOOST_TEST(verified(others, "off") == 0);
    const auto unchecked =
        look(secure.secure_connect_string(), ours, {"COLOCK_TLS_VERIFY=any-name"});
    BOOST_TEST(has(unchecked.about("certificate"), "warning: "));
    BOOST_TEST(unchecked.commands_for("certificate") == "unset COLOCK_TLS_VERIFY\n");
    // The authorities of the system.
    auto systems = ours;
    systems.erase(systems.begin(), systems.begin() + 2);
    systems.push_back("--tls");
    BOOST_TEST(look(secure.secure_connect_string(), systems).status == 1);
    BOOST_TEST(look(secure.secure_connect_string(), systems,
                    {"SSL_CERT_FILE=" + authority->certificate_file()})
                   .status == 0);
}

// As clients read them: the dot at the end of a host is for resolvers, and a common name is no name.
BOOST_AUTO_TEST_CASE(a_name_is_what_clients_take_for_one)
{
    BOOST_TEST(cli::certified_name({}, {"zk1.example.", "2281"}) == "zk1.example");
    BOOST_TEST(cli::certified_name({.tls_server_name = "zk."}, {"zk1.example.", "2281"}) == "zk.");

    const temporary_directory directory;
    const certificate_authority authority{"colock test authority", directory.path()};
    const auto own = authority.issue({.name = "localhost"});
    std::filesystem::rename(own.file, directory.path() + "/server.pem");
    std::filesystem::rename(own.key, directory.path() + "/server.key");
    subprocess server{
        {COLOCK_PROGRAM, "serve", "--port", "0", "--quiet", "--tls", directory.path()},
        {.capture_output = true}};
    const auto port =
        server.read_line(long_enough).value_or(":").substr(std::string{"127.0.0.1:"}.size());
    const std::vector<std::string> options{"--tls-ca", authority.certificate_file()};
    const auto looked = look("localhost:" + port, options);
    BOOST_TEST(looked.status == 1);
    BOOST_TEST(has(looked.about("certificate"), "is not for this name"),
               looked.about("certificate"));
    BOOST_TEST(run_colock("localhost:" + port,
                          {"run", "--tls-ca", authority.certificate_file(), "/lock", "--", "true"})
                   .status == 121);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::health_certificates_test
