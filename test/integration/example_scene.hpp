// A server in memory, and examples that run against it. That locks hold what they promise, real servers show elsewhere.
#ifndef COLOCK_TEST_EXAMPLE_SCENE_HPP
#define COLOCK_TEST_EXAMPLE_SCENE_HPP

#include <colock/testing/server.hpp>
#include <support/subprocess.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

using namespace std::chrono_literals;

// A process that runs an example.
class example : public subprocess {
public:
    explicit example(const std::string& name, std::vector<std::string> arguments,
                     subprocess_options options = {})
        : subprocess{command(name, std::move(arguments)), capturing(std::move(options))}
    {
    }

    // The next line; it has to come.
    std::string line()
    {
        const auto read = read_line(30s);
        BOOST_REQUIRE_MESSAGE(read, "another line was expected");
        return *read;
    }

    // The next line, without the words that it has to begin with.
    std::string line_after(const std::string& words)
    {
        const auto whole = line();
        BOOST_REQUIRE_MESSAGE(whole.starts_with(words), whole);
        return whole.substr(words.size());
    }

    // The same of the first line that begins so.
    std::string skip_to(const std::string& words)
    {
        for (;;) {
            if (const auto whole = line(); whole.starts_with(words)) {
                return whole.substr(words.size());
            }
        }
    }

    // All lines up to the end.
    std::vector<std::string> rest()
    {
        std::vector<std::string> lines;
        while (const auto read = read_line(30s)) {
            lines.push_back(*read);
        }
        return lines;
    }

private:
    // All programs lie in one directory.
    static std::vector<std::string> command(const std::string& name,
                                            std::vector<std::string> arguments)
    {
        const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
        arguments.insert(arguments.begin(), here / name);
        return arguments;
    }
    static subprocess_options capturing(subprocess_options options)
    {
        options.capture_output = true;
        return options;
    }
};

struct example_scene {
    // Sessions end soon.
    testing::server server{{.least_session = 1s, .most_session = 4s}};

    // Nor a node of theirs: a node of a session goes with it.
    void check_nothing_left() { BOOST_TEST(server.sessions().empty()); }
};

} // namespace colock::test

#endif
