// Parts of the paths of nodes.
#pragma once

#include <string>
#include <string_view>

namespace colock::cli {

// "/a/b" of "/a/b/c", "/" of "/a".
[[nodiscard]] inline std::string parent_of(const std::string& path)
{
    const auto slash = path.rfind('/');
    return slash == 0 || slash == path.npos ? "/" : path.substr(0, slash);
}

[[nodiscard]] inline std::string child_of(const std::string& path, std::string_view name)
{
    return (path == "/" ? "" : path) + '/' + std::string{name};
}

// "c" of "/a/b/c".
[[nodiscard]] inline std::string last_name(const std::string& path)
{
    return path.substr(path.rfind('/') + 1);
}

// The directory of a contender's node; of a permit's, the semaphore above `leases`.
[[nodiscard]] inline std::string lock_of_node(const std::string& node)
{
    const auto name = last_name(node);
    auto directory = parent_of(node);
    const auto last = last_name(directory);
    if (name.find("lease-") != name.npos && last == "leases") {
        return parent_of(directory);
    }
    return directory;
}

} // namespace colock::cli
