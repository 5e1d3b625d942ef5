// Which texts ZooKeeper allows in the names of nodes (its PathUtils), which are taken from servers, and the UTF-8 that they are
// made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colock::detail {

struct character {
    std::uint32_t code = 0;
    std::size_t bytes = 0; // 0: no UTF-8
};
// The first one of a text that is not empty. Refuses what is longer than it need be, surrogates, and what is beyond Unicode.
[[nodiscard]] character first_character(std::string_view text) noexcept;

// Why no name of a node may have such text in it, to be read after the name, such as "contains a NUL"; nullptr when names may.
// A '/' passes, so that this answers for paths, too.
//
// The servers read bytes that are no UTF-8 as U+FFFD, which they refuse, and each character beyond U+FFFF as two surrogates.
[[nodiscard]] const char* text_fault(std::string_view text) noexcept;

// The same of a path that begins with '/': whether a name in it is empty, "." or "..". `sequential`: the server appends a number
// to the last one. "/" is refused.
[[nodiscard]] const char* fault_of_names(std::string_view path, bool sequential) noexcept;

// Whether a server may say that a node has this name, or this path. An ensemble may have grown old: up to 3.4, PathUtils took the
// characters at the ends of the ranges that it refuses now (ZOOKEEPER-1628): U+001F, U+007F, U+009F, U+F8FF, U+FFF0 and U+FFFF. So
// a name is refused only for what no ZooKeeper has ever let anybody create, and what would harm: control characters, "." and "..",
// and bytes that are no UTF-8. It passes some names that no ZooKeeper has taken either: a lock beside them works.
[[nodiscard]] bool is_node_name(std::string_view name) noexcept;
[[nodiscard]] bool is_node_path(std::string_view path) noexcept;

// Whether it is what a server appends to the name of a sequential node: its counter as "%010d", which turns negative after
// 2,147,483,647.
[[nodiscard]] bool is_appended_number(std::string_view text) noexcept;

} // namespace colock::detail
