#include "run/start_command.hpp"

#include "program/failure.hpp"
#include "program/text.hpp"
#include "run/boot_time.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

namespace colock::cli {

namespace {

enum class found { nothing, not_a_program, program };

// `is_named`: by the user, and not a place where it may be.
found look_at(const std::string& path, bool is_named)
{
    struct stat about {};
    if (::stat(path.c_str(), &about) != 0) {
        return errno == EACCES && is_named ? found::not_a_program : found::nothing;
    }
    return S_ISREG(about.st_mode) && ::access(path.c_str(), X_OK) == 0 ? found::program
                                                                       : found::not_a_program;
}

[[noreturn]] void give_up(int report, int error)
{
    [[maybe_unused]] const auto written = ::write(report, &error, sizeof error);
    ::_exit(not_executable);
}

// In the new process. Reports errno if that fails.
[[noreturn]] void become(const command_line& command, const std::vector<variable>& environment,
                         const inherited_signals& signals, const terminal& tty, shared_bound& bound,
                         pid_t parent, int report)
{
    ::setpgid(0, 0);
    if (tty.is_for_command()) {
        tty.give_to(::getpid());
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) { // it has ended before that
        ::_exit(usage);
    }
    for (const auto& [name, value] : environment) {
        if (value) {
            ::setenv(name.c_str(), value->c_str(), 1);
        } else {
            ::unsetenv(name.c_str());
        }
    }
    std::vector<char*> words;
    for (const auto& word : command.words) {
        words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    signals.restore();
    if (!bound.take_start(boot_time())) {
        give_up(report, ETIME);
    }
    ::execv(command.file.c_str(), words.data());
    if (errno == ENOEXEC) { // a script without "#!", as every shell runs it
        words.insert(words.begin() + 1, const_cast<char*>(command.file.c_str()));
        words.front() = const_cast<char*>("sh");
        ::execv("/bin/sh", words.data());
    }
    give_up(report, errno);
}

} // namespace

command_line find_command(std::vector<std::string> words, bool shell)
{
    if (shell) {
        return {"/bin/sh", {"sh", "-c", joined(words, " ")}};
    }
    const auto name = words.front();
    const bool is_path = name.find('/') != name.npos;
    bool seen = false;
    const auto is_it = [&](const std::string& path) {
        const auto what = look_at(path, is_path);
        seen = seen || what == found::not_a_program;
        return what == found::program;
    };
    if (is_path) {
        if (is_it(name)) {
            return {name, std::move(words)};
        }
    } else if (!name.empty()) {
        const char* const path = std::getenv("PATH");
        std::istringstream directories{path ? path : "/usr/local/bin:/usr/bin:/bin"};
        for (std::string directory; std::getline(directories, directory, ':');) {
            auto file = (directory.empty() ? "." : directory) + '/' + name;
            if (is_it(file)) {
                return {std::move(file), std::move(words)};
            }
        }
    }
    std::error_code none;
    if (is_path && std::filesystem::is_directory(name, none)) {
        throw failure{not_executable, "\"" + name + "\" is a directory; name a program in it"};
    }
    if (seen) {
        throw failure{not_executable, "\"" + name +
                                          "\" is not executable; chmod +x makes it so, "
                                          "or put its interpreter before it"};
    }
    throw failure{not_found, "there is no command \"" + name +
                                 "\"; check the spelling and PATH, or use --shell for a line of "
                                 "the shell"};
}

std::string cannot_start(const std::string& name, int error)
{
    // The file was there when it was looked for.
    return name + " cannot be started: " + std::strerror(error) +
           (error == ENOENT ? ": the file, or the interpreter that its first line names" : "");
}

started_command start_command(const command_line& command, const std::vector<variable>& environment,
                              const inherited_signals& signals, const terminal& tty,
                              shared_bound& bound)
{
    int report[2];
    if (::pipe2(report, O_CLOEXEC) != 0) {
        return {-1, errno};
    }
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
        become(command, environment, signals, tty, bound, parent, report[1]);
    }
    const int fork_error = errno;
    ::close(report[1]);
    if (child < 0) {
        ::close(report[0]);
        return {-1, fork_error};
    }
    ::setpgid(child, child); // whoever comes first
    int error = 0;
    ssize_t size = 0;
    while ((size = ::read(report[0], &error, sizeof error)) < 0 && errno == EINTR) {
    }
    ::close(report[0]);
    if (size == sizeof error) {
        ::waitpid(child, nullptr, 0);
        return {-1, error};
    }
    return {child, 0};
}

} // namespace colock::cli
