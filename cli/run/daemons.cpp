#include "run/daemons.hpp"

#include "run/process_tree.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace colock::cli {

namespace {

// The kernel knows no more of a name.
constexpr std::size_t longest_name = 15;

// 0: there is none. Others may have put anything in its place, such as a pipe: the guardian never waits for it.
pid_t number_in_file(const std::string& name)
{
    pid_t number = 0;
    const int file = ::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat about {};
    char text[32];
    if (file != -1 && ::fstat(file, &about) == 0 && S_ISREG(about.st_mode)) {
        const std::string_view read{
            text, static_cast<std::size_t>(std::max<ssize_t>(::read(file, text, sizeof text), 0))};
        const auto begin = std::min(read.find_first_not_of(" \t\n"), read.size());
        std::from_chars(text + begin, text + read.size(), number);
    }
    ::close(file);
    return number;
}

bool is_named(const process& p, const std::string& name)
{
    return name.find('/') == name.npos
               ? std::string_view{p.name} == std::string_view{name}.substr(0, longest_name)
               : p.id == number_in_file(name);
}

bool is_readable(const std::string& name)
{
    return ::access(name.c_str(), R_OK) == 0;
}

} // namespace

std::string daemons::why_not() const
{
    for (const auto& name : names_) {
        const bool is_path = name.find('/') != name.npos;
        if (is_path && number_in_file(name) <= 0) {
            return "--leave " + name + (is_readable(name) ? " has no number" : " cannot be read");
        }
        if (!is_path && is_readable(name)) {
            return "--leave " + name + " is the name of a process; ./" + name + " is the file";
        }
    }
    return empty() ? "--leave lets a daemon live" : "--leave names others";
}

std::vector<pid_t> daemons::below_this(pid_t command) const
{
    std::vector<pid_t> found;
    if (empty()) {
        return found;
    }
    for (const auto& p : processes_below_this()) {
        if (p.id != command &&
            std::ranges::any_of(names_, [&](const auto& name) { return is_named(p, name); })) {
            found.push_back(p.id);
        }
    }
    return found;
}

} // namespace colock::cli
