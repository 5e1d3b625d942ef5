#include "names/shown.hpp"

#include <colock/log.hpp>

#include "names/path_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace colock::protocol {

namespace {

// Not those that a terminal obeys, or that a reader does not see.
bool is_printable(std::uint32_t code) noexcept
{
    struct range {
        std::uint32_t first, last;
    };
    constexpr std::array<range, 21> unprintable{
        {{0, 0x1f},          {0x7f, 0x9f},     {0xad, 0xad},       {0x34f, 0x34f},
         {0x61c, 0x61c},     {0x115f, 0x1160}, {0x17b4, 0x17b5},   {0x180b, 0x180f},
         {0x200b, 0x200f},   {0x2028, 0x202e}, {0x2060, 0x206f},   {0x3164, 0x3164},
         {0xe000, 0xf8ff},   {0xfe00, 0xfe0f}, {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
         {0xfff0, 0xfffc},   {0xfffe, 0xffff}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
         {0xf0000, 0x10ffff}}};
    return std::ranges::none_of(unprintable,
                                [&](const range& r) { return code >= r.first && code <= r.last; });
}

} // namespace

std::string shown(std::string_view text, std::size_t most)
{
    std::string line;
    std::size_t at = 0;
    while (at != text.size()) {
        const auto next = detail::first_character(text.substr(at, 4));
        const auto bytes = std::max<std::size_t>(next.bytes, 1);
        const bool as_it_is = next.bytes != 0 && is_printable(next.code);
        if (line.size() + (as_it_is ? bytes : 4 * bytes) > most) {
            return line + "...";
        }
        if (as_it_is) {
            line += text.substr(at, bytes);
        } else {
            constexpr std::string_view digits = "0123456789abcdef";
            for (const char each : text.substr(at, bytes)) {
                const auto c = static_cast<unsigned char>(each);
                line += {'\\', 'x', digits[c >> 4U], digits[c & 0xfU]};
            }
        }
        at += bytes;
    }
    return line;
}

} // namespace colock::protocol

std::string colock::printable(std::string_view text, std::size_t most)
{
    return protocol::shown(text, most);
}
