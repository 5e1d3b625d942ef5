// Parts of the paths of nodes.
#pragma once

#include <string>

namespace colock::cli {

// "/a/b" of "/a/b/c", "/" of "/a".
[[nodiscard]] inline std::string parent_of(const std::string& path)
{
    const auto slash = path.rfind('/');
    return slash == 0 || slash == path.npos ? "/" : path.substr(0, slash);
}

} // namespace colock::cli
