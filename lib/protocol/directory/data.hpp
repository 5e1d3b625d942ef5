// The data of a lock's directory: which client library has made it, and how far its queue has come.
#pragma once

#include <colock/layout.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace colock::protocol {

// Of the directories that are made here. Servers do not tell which nodes are containers.
inline constexpr std::string_view directory_signature =
    "made by colock, to be deleted when it is empty";

// Whether colock has made the directory that has these data.
[[nodiscard]] bool is_signed(std::string_view data) noexcept;

// Colock's signature, and the low-water mark: in the queue of this layout nobody is left up to this number. Several layouts
// may share a directory, so the low-water mark names its queue.
[[nodiscard]] std::string data_with_low_water_mark(const layout& l, std::int64_t number);

// The number of the low-water mark, or -1: there is none, or it is about another queue.
[[nodiscard]] std::int64_t low_water_mark_in(const layout& l, std::string_view data);

} // namespace colock::protocol
