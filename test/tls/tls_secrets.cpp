// What a client says over TLS leaves the process as cipher text only: its calls of the system are looked at.
#include <support/subprocess.hpp>
#include <support/temporary_directory.hpp>

#include "tls_scene.hpp"

#include <fstream>

using namespace colock::test;

namespace {

struct calls {
    std::size_t within = 0; // of a pair of sockets
    std::size_t outside = 0;
    std::size_t on_tcp = 0; // in all
};

// The lines of a trace in which some bytes occur, by the kind of the descriptor.
calls lines_with(const std::string& file, const std::string& text)
{
    calls found;
    std::ifstream in{file};
    for (std::string line; std::getline(in, line);) {
        const bool sends = line.find("<TCP:[") != line.npos;
        found.on_tcp += sends;
        // The arguments of the program are no business of TLS; the address sanitizer reads them.
        const bool arguments =
            line.find("execve(") != line.npos || line.find("/cmdline>") != line.npos;
        if (line.find(text) != line.npos && !arguments) {
            (line.find("<UNIX-STREAM:[") != line.npos ? found.within : found.outside) += 1;
        }
    }
    return found;
}

} // namespace

BOOST_AUTO_TEST_SUITE(tls_secrets)

BOOST_AUTO_TEST_CASE(passwords_paths_and_data_leave_the_process_as_cipher_text)
{
    const std::string password = "Open-Sesame-4711";
    const std::string text = "what-nobody-shall-read";
    const temporary_directory here;
    const auto trace = here.path() + "/trace";
    subprocess_options options;
    options.capture_output = true;
    options.environment = {"ASAN_OPTIONS=detect_leaks=0"}; // which needs what strace has taken
    subprocess speaker{{"strace", "-f", "-yy", "-s", "100000", "-o", trace, COLOCK_TLS_SPEAKER,
                        tls_server().secure_connect_string(), our_authority()->certificate_file(),
                        our_client().file, our_client().key, password, text},
                       options};
    BOOST_TEST(speaker.read_line(long_enough).value_or("") == "said");
    BOOST_REQUIRE(speaker.wait().success());

    for (const auto& secret : {password, text, std::string{"speaker:"}}) {
        const auto seen = lines_with(trace, secret);
        BOOST_TEST_CONTEXT(secret)
        {
            BOOST_TEST(seen.within > 0u); // else this test looks at nothing
            BOOST_TEST(seen.outside == 0u);
            BOOST_TEST(seen.on_tcp > 10u);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
