// `colock` as a user whom servers know by SASL.
#include <support/sasl_servers.hpp>
#include <support/temporary_directory.hpp>

#include "colock_process.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

using namespace colock::test;
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
    BOOST_TEST(status({"doctor", "--sasl", "digest-md5", "--auth", file}) <= 1);
    BOOST_TEST(status({"run", "--sasl", "digest-md5", "/job", "--", "true"}, "SASL DIGEST-MD5",
                      {"COLOCK_AUTH=sasl bob:guessed"}) != 0);
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
