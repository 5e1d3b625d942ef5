// The program `colock serve`.
#pragma once

#include <support/run.hpp>
#include <support/subprocess.hpp>

#include <chrono>
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

inline bool has(const std::string& text, const std::string& part)
{
    return text.find(part) != text.npos;
}

} // namespace colock::test
