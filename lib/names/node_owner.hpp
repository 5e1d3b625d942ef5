// Whether a session owns a node, by the owner in its stat. The library and the program read it.
#pragma once

#include <cstdint>

namespace colock::detail {

// A container, and a time to live, stand in the place of an owner. Of a container servers say that nobody owns it; older
// ones, that the smallest number does.
[[nodiscard]] constexpr bool is_of_session(std::int64_t owner) noexcept
{
    // In the highest three bytes. A session that began at the server 255 has bits of a time in the lower two of them.
    constexpr std::uint64_t time_to_live = 0xff'0000;
    return owner != 0 && owner != INT64_MIN &&
           static_cast<std::uint64_t>(owner) >> 40 != time_to_live;
}

} // namespace colock::detail
