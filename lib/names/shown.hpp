// Text of others, for people: one line, of characters that no terminal obeys.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace colock::protocol {

// Each byte that is not part of a printable character in UTF-8 is written as \xNN: control characters, what turns the
// direction of a line or has no width, and what is no UTF-8. After `most` bytes of the line, "..." takes the place of the
// rest.
[[nodiscard]] std::string shown(std::string_view text,
                                std::size_t most = std::numeric_limits<std::size_t>::max());

} // namespace colock::protocol
