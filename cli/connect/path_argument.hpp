// The paths of locks on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>

namespace colock::cli {

// The slashes that a shell, or a habit, leaves at the end of a path mean nothing: "/locks/" is "/locks".
[[nodiscard]] inline std::string without_slashes_at_end(std::string path)
{
    while (path.size() > 1 && path.ends_with('/')) {
        path.pop_back();
    }
    return path;
}

// PATH, or several of them, by the type of `value`.
template <class Value>
CLI::Option* add_path(CLI::App& to, Value& value, std::string description)
{
    return to.add_option("PATH", value, std::move(description))->transform(without_slashes_at_end);
}

} // namespace colock::cli
