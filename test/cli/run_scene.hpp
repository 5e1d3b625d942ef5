// A path of its own on a server, and `colock run` there.
#ifndef COLOCK_TEST_CLI_RUN_SCENE_HPP
#define COLOCK_TEST_CLI_RUN_SCENE_HPP

#include <support/admin_session.hpp>
#include <support/one_server.hpp>
#include <support/temporary_directory.hpp>
#include <support/wait_until.hpp>

#include "colock_process.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

inline constexpr std::chrono::seconds patience{60};

// A lock of one's own, and commands that hold it.
struct scene {
    std::string path = own_node() + "/lock";
    std::string servers = one_server::get().connect_string();
    temporary_directory files;

    std::vector<std::string> with(std::vector<std::string> before, std::vector<std::string> command)
    {
        before.insert(before.begin(), "run");
        before.push_back(path);
        before.push_back("--");
        before.insert(before.end(), command.begin(), command.end());
        return before;
    }
    colock_result run(std::vector<std::string> options, std::vector<std::string> command,
                      std::vector<std::string> environment = {})
    {
        return run_colock(servers, with(std::move(options), std::move(command)),
                          std::move(environment));
    }
    colock_result shell(const std::string& line) { return run({}, {"sh", "-c", line}); }

    std::size_t queue()
    {
        admin_session admin{servers};
        return queue_length(admin, path);
    }
    bool queue_has(std::size_t number)
    {
        return wait_until([&] { return queue() == number; }, patience);
    }
    // A command that says that it runs, by a file, and goes on until another file is there.
    std::vector<std::string> holding()
    {
        return {"sh", "-c",
                "touch " + files.path() + "/runs; while [ ! -e " + files.path() +
                    "/enough ]; do sleep 0.01; done"};
    }
    bool runs()
    {
        return wait_until([&] { return ::access((files.path() + "/runs").c_str(), F_OK) == 0; },
                          patience);
    }
    void enough() { std::ofstream{files.path() + "/enough"}; }
};

inline bool is_gone(const std::string& pid_file)
{
    const auto pid = std::stol(file_text(pid_file));
    return wait_until([&] { return ::kill(static_cast<pid_t>(pid), 0) != 0; }, patience);
}

} // namespace colock::test

#endif
