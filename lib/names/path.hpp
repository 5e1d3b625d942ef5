// Paths of nodes: what is valid, and how to take them apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace colock::protocol {

// The server's limit is that of a packet. Longer paths than this are a mistake, and are refused while the
// mistake can still be explained.
inline constexpr std::size_t max_path_length = 4096;

// "" when the path is valid, else what is wrong with it. `sequential`: the server appends a number, so the
// last name may be empty.
[[nodiscard]] std::string path_fault(std::string_view path, bool sequential = false);

// "/a" and "b" make "/a/b".
[[nodiscard]] std::string join_path(std::string_view directory, std::string_view name);

// "/a/b" of "/a/b/c"; "/" of "/a".
[[nodiscard]] std::string_view parent_path(std::string_view path) noexcept;

// "c" of "/a/b/c".
[[nodiscard]] std::string_view last_name(std::string_view path) noexcept;

// "/a", "/a/b", "/a/b/c" of "/a/b/c".
[[nodiscard]] std::vector<std::string> path_and_ancestors(std::string_view path);

} // namespace colock::protocol
