// The helper of session guards by a name of its own, so that its processes are told from those of other tests.
#ifndef COLOCK_TEST_FAULT_OWN_HELPER_HPP
#define COLOCK_TEST_FAULT_OWN_HELPER_HPP

#include <support/temporary_directory.hpp>
#include <support/wait_until.hpp>

#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace colock::test {

// Nothing of a process that has gone.
inline std::string content(pid_t pid, const std::string& file)
{
    std::ifstream in{"/proc/" + std::to_string(pid) + '/' + file};
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

struct own_helper {
    own_helper()
    {
        const std::filesystem::path built{COLOCK_SESSION_GUARD};
        std::filesystem::copy_file(built, path);
        std::filesystem::copy_file(built.parent_path() / COLOCK_GUARD_MODULE, module_path);
    }
    ~own_helper()
    {
        for (const auto pid : processes()) {
            ::kill(pid, SIGKILL);
        }
    }

    [[nodiscard]] std::vector<pid_t> processes() const
    {
        std::vector<pid_t> all;
        for (const auto& each : std::filesystem::directory_iterator{"/proc"}) {
            const auto name = each.path().filename().string();
            if (name.find_first_not_of("0123456789") == name.npos &&
                content(std::stoi(name), "cmdline").starts_with(shown + '\0')) {
                all.push_back(std::stoi(name));
            }
        }
        return all;
    }
    // Once there are so many: it takes a moment until one shows its name.
    std::vector<pid_t> processes(std::size_t number) const
    {
        std::vector<pid_t> all;
        const auto are_there = [&] { return (all = processes()).size() == number; };
        if (!wait_until(are_there, std::chrono::seconds{60})) {
            throw std::runtime_error{std::to_string(all.size()) + " processes of " + shown +
                                     ", not " + std::to_string(number)};
        }
        return all;
    }
    [[nodiscard]] bool is_gone(std::chrono::milliseconds within = std::chrono::seconds{60}) const
    {
        return wait_until([this] { return processes().empty(); }, within);
    }

    static inline int last = 0;
    temporary_directory directory;
    std::string shown = "guard-of-" + std::to_string(::getpid()) + '-' + std::to_string(++last);
    std::string path = directory.path() + "/colock-" + shown;
    std::string module_path = directory.path() + "/" COLOCK_GUARD_MODULE;
};

} // namespace colock::test

#endif
