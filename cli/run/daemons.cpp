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

} // namespace

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
