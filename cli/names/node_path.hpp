// Parts of the paths of nodes, and whose a node is.
#pragma once

#include <cstdint>
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

// Whether this owner of a node is a session: a container, and a time to live, stand in the place of one.
[[nodiscard]] constexpr bool is_of_session(std::int64_t owner) noexcept
{
    // In the highest three bytes. A session that began at the server 255 has bits of a time in the lower two of them.
    constexpr std::uint64_t time_to_live = 0xff'0000;
    return owner != 0 && owner != INT64_MIN &&
           static_cast<std::uint64_t>(owner) >> 40 != time_to_live;
}

} // namespace colock::cli
