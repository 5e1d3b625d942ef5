#include "guid.hpp"

namespace colock::protocol {

void append(std::string& text, const guid& g, bool dashed)
{
    constexpr char digits[] = "0123456789abcdef";
    char buffer[guid_length];
    char* end = buffer;
    const auto write = [&](std::uint64_t word, int from, int to) {
        for (int shift = from - 4; shift >= to; shift -= 4) {
            *end++ = digits[(word >> shift) & 0xf];
        }
    };
    const auto dash = [&] {
        if (dashed) {
            *end++ = '-';
        }
    };
    write(g.high, 64, 32);
    dash();
    write(g.high, 32, 16);
    dash();
    write(g.high, 16, 0);
    dash();
    write(g.low, 64, 48);
    dash();
    write(g.low, 48, 0);
    text.append(buffer, end);
}

} // namespace colock::protocol
