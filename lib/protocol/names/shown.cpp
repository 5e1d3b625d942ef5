#include "shown.hpp"

#include <colock/log.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace colock::protocol {

namespace {

struct character {
    std::uint32_t code = 0;
    std::size_t bytes = 0; // 0: no UTF-8
};

// Refuses what is longer than it need be, surrogates, and what is beyond Unicode.
character first_of(std::string_view text) noexcept
{
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto lead = byte(0);
    const std::size_t bytes = lead < 0x80             ? 1
                              : (lead & 0xe0) == 0xc0 ? 2
                              : (lead & 0xf0) == 0xe0 ? 3
                              : (lead & 0xf8) == 0xf0 ? 4
                                                      : 0;
    if (bytes == 0 || bytes > text.size()) {
        return {};
    }
    std::uint32_t code = bytes == 1 ? lead : lead & (0x7fU >> bytes);
    for (std::size_t i = 1; i != bytes; ++i) {
        if ((byte(i) & 0xc0) != 0x80) {
            return {};
        }
        code = (code << 6) | (byte(i) & 0x3fU);
    }
    constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < least[bytes] || surrogate || code > 0x10ffff ? character{}
                                                               : character{code, bytes};
}

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
        const auto next = first_of(text.substr(at, 4));
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
