// `colock` as a user whom servers know by SASL.
#include <support/sasl_servers.hpp>
#include <support/tcp_proxy.hpp>
#include <support/temporary_directory.hpp>
#include <support/wait_until.hpp>

#include "colock_process.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::cli_sasl_test {

using namespace std::chrono_literals;

namespace {

// A server that serves nobody else, and a file that says who bob is.
struct scene {
    zookeeper_options serves_nobody_else() const
    {
        std::ofstream{file} << "# who we are\nsasl bob:bobs:secret\n";
        ::chmod(file.c_str(), 0600);
        return and_nobody_else(knows_users(files.path(), R"(user_bob="bobs:secret")"));
    }

    const temporary_directory files;
    const std::string file = files.path() + "/who";
    zookeeper_server server{serves_nobody_else()};

    int status(std::vector<std::string> arguments, const std::string& says = "",
               const std::vector<std::string>& environment = {})
    {
        colock_process program{server.connect_string(), std::move(arguments), environment};
        const auto code = program.status();
        BOOST_TEST(program.err().find(says) != std::string::npos, program.err());
        return code;
    }

    void doctor(std::vector<std::string> arguments, int status,
                const std::vector<std::string>& says,
                const std::vector<std::string>& environment = {})
    {
        arguments.insert(arguments.begin(), "doctor");
        colock_process program{server.connect_string(), std::move(arguments), environment};
        BOOST_TEST(program.status() == status);
        const auto said = program.out() + program.err();
        for (const auto& each : says) {
            BOOST_TEST(said.find(each) != std::string::npos, each << " is not in " << said);
        }
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(cli_sasl, scene)

BOOST_AUTO_TEST_CASE(a_user_runs_under_a_lock)
{
    BOOST_TEST(status({"run", "--sasl", "digest-md5", "--auth", file, "--acl", "creator", "/job",
                       "--", "true"}) == 0);
    BOOST_TEST(status({"run", "/job", "--", "true"}, "",
                      {"COLOCK_SASL=digest-md5", "COLOCK_AUTH=sasl bob:bobs:secret"}) == 0);
    BOOST_TEST(status({"root", "--sasl", "digest-md5", "--auth", file, "/locks"}) == 0);
    BOOST_TEST(status({"run", "--sasl", "digest-md5", "/job", "--", "true"}, "SASL DIGEST-MD5",
                      {"COLOCK_AUTH=sasl bob:guessed"}) != 0);
}

// The doctor tells a server that refuses our identity from one that does not answer.
BOOST_AUTO_TEST_CASE(a_doctor_says_why_a_server_does_not_know_us)
{
    doctor({"--sasl", "digest-md5", "--auth", file}, 0,
           {"ok       connection", "the servers take our identity"});
    doctor({"--sasl", "digest-md5"}, 1,
           {"ok       server", "error    connection", "SASL DIGEST-MD5: the server refuses",
            "DigestLoginModule with this user and password", "1 error"},
           {"COLOCK_AUTH=sasl bob:guessed"});
    doctor({"--sasl", "gssapi"}, 1,
           {"ok       server", "error    connection", "SASL GSSAPI: ", "kinit", "1 error"},
           {"KRB5CCNAME=FILE:" + files.path() + "/no_tickets"});
    doctor({"--auth", file}, 1,
           {"ok       server", "error    connection", "use --sasl, --auth or --tls-cert",
            "counts with --sasl digest-md5 only"});
}

BOOST_AUTO_TEST_CASE(a_doctor_tells_of_a_server_without_sasl)
{
    const zookeeper_server without;
    doctor({"--servers", without.connect_string(), "--sasl", "digest-md5", "--auth", file}, 1,
           {"ok       server", "error    connection", "is it configured for SASL?", "1 error"});
}

// As one of three may, where somebody has forgotten it.
BOOST_AUTO_TEST_CASE(who_waits_hears_that_a_later_server_refuses)
{
    const temporary_directory others;
    const zookeeper_server refusing{knows_users(others.path(), R"(user_bob="another")")};
    struct wait {
        std::vector<std::string> words;
        const char* says;
    };
    for (const auto& each :
         {wait{{"elect", "--follow", "/leader"}, " nobody\n"},
          wait{{"elect", "--enabled-by", "/switch", "/leader", "--", "true"}, "does not exist"}}) {
        tcp_proxy proxy{server.connect_string()};
        colock_process program{proxy.connect_string(),
                               each.words,
                               {"COLOCK_SASL=digest-md5", "COLOCK_AUTH=sasl bob:bobs:secret"}};
        const auto waits = [&] { return has(program.out() + program.err(), each.says); };
        BOOST_REQUIRE(wait_until(waits, 60s));
        proxy.set_target(refusing.connect_string());
        proxy.cut();
        BOOST_TEST(program.status() == 122, program.err());
        BOOST_TEST(has(program.err(), " the credentials"), program.err());
    }
}

BOOST_AUTO_TEST_CASE(what_is_missing_is_said)
{
    constexpr int usage = 125;
    BOOST_TEST(status({"run", "--sasl", "digest-md5", "/job", "--", "true"},
                      "\"sasl user:password\"") == usage);
    BOOST_TEST(status({"run", "--sasl", "plain", "/job", "--", "true"}, "digest-md5 or gssapi") ==
               usage);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_sasl_test
