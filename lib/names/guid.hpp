// The identity of one join, by which a contender finds its own node again.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

namespace colock::protocol {

// 128 bits. The first of a contender is random; next() gives the one of the following join, so that the
// protocol needs no source of randomness of its own.
struct guid {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    friend auto operator<=>(const guid&, const guid&) = default;

    void next() noexcept { ++low; }
};

// 8-4-4-4-12 hexadecimal digits, lower case; or 32 without dashes. Returns the end.
char* write(char* to, const guid& g, bool dashed = true);
void append(std::string& text, const guid& g); // dashed
[[nodiscard]] constexpr std::size_t guid_length(bool dashed = true) noexcept
{
    return dashed ? 36 : 32;
}

} // namespace colock::protocol
