// The program `colock serve`.
#pragma once

#include <support/run.hpp>
#include <support/subprocess.hpp>
#include <support/wait_until.hpp>

#include "colock_process.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

using steady = std::chrono::steady_clock;

class served {
public:
    explicit served(std::vector<std::string> options = {"--port", "0", "--quiet"})
        : process_{words(std::move(options)), {.capture_output = true}}
    {
        address = process_.read_line(long_enough).value_or("");
        ready = steady::now() - begin_;
    }

    void kill() { process_.kill(); }
    [[nodiscard]] std::string port() const { return address.substr(address.rfind(':') + 1); }

    // KiB that are in memory.
    [[nodiscard]] long resident() const
    {
        std::ifstream status{"/proc/" + std::to_string(process_.pid()) + "/status"};
        for (std::string word; status >> word;) {
            if (long size = 0; word == "VmRSS:" && status >> size) {
                return size;
            }
        }
        return 0;
    }

    std::string address;
    steady::duration ready{};

private:
    static std::vector<std::string> words(std::vector<std::string> options)
    {
        options.insert(options.begin(), {COLOCK_PROGRAM, "serve"});
        return options;
    }

    steady::time_point begin_ = steady::now();
    subprocess process_;
};

// `colock run -v` says that a server is for development, and that it holds the lock there; the command goes on until then.
inline void check_what_run_says(const std::string& address, std::vector<std::string> options)
{
    options.insert(options.begin(), {"run", "-v"});
    options.insert(options.end(), {"/locks/r", "--", "sleep", "600"});
    colock_process p{address, std::move(options)};
    const auto has_said_all = [&] {
        const auto said = p.err();
        return has(said, "is `colock serve`: for development") && has(said, "granted: /locks/r/");
    };
    BOOST_TEST(wait_until(has_said_all, long_enough), p.err());
    p.process().send_signal(SIGTERM);
    BOOST_TEST(p.status() == 128 + SIGTERM);
}

} // namespace colock::test
