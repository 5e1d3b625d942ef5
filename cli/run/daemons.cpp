#include "run/daemons.hpp"

#include "run/process_tree.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>

namespace colock::cli {

namespace {

// The kernel knows no more of a name.
constexpr std::size_t longest_name = 15;

pid_t number_in_file(const std::string& file)
{
    pid_t number = 0;
    std::ifstream{file} >> number;
    return number;
}

bool is_named(const process& p, const std::string& name)
{
    return name.find('/') == name.npos
               ? std::string_view{p.name} == std::string_view{name}.substr(0, longest_name)
               : p.id == number_in_file(name);
}

bool is_file(const std::string& name)
{
    return std::ifstream{name}.good();
}

} // namespace

std::string daemons::why_not() const
{
    for (const auto& name : names_) {
        const bool is_path = name.find('/') != name.npos;
        if (is_path && number_in_file(name) <= 0) {
            return "--leave " + name + (is_file(name) ? " has no number" : " cannot be read");
        }
        if (!is_path && is_file(name)) {
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
