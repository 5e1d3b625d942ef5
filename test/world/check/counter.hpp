// The data of a node that says how many permits there are, as colock::counter_node reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace world::check {

// Four bytes, the highest first.
[[nodiscard]] inline std::string bytes_of(std::int64_t number)
{
    std::string data;
    for (int shift = 24; shift >= 0; shift -= 8) {
        data += static_cast<char>(number >> shift & 0xff);
    }
    return data;
}

[[nodiscard]] inline std::optional<std::int64_t> number_in(std::string_view data)
{
    if (data.size() != 4) {
        return std::nullopt;
    }
    std::int64_t number = 0;
    for (const char c : data) {
        number = number << 8 | static_cast<unsigned char>(c);
    }
    return number;
}

} // namespace world::check
