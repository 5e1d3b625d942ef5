#include "names/guid.hpp"

namespace colock::protocol {

char* write(char* to, const guid& g, bool dashed)
{
    constexpr char digits[] = "0123456789abcdef";
    const auto write_word = [&](std::uint64_t word, int from, int last) {
        for (int shift = from - 4; shift >= last; shift -= 4) {
            *to++ = digits[(word >> shift) & 0xf];
        }
    };
    const auto dash = [&] {
        if (dashed) {
            *to++ = '-';
        }
    };
    write_word(g.high, 64, 32);
    dash();
    write_word(g.high, 32, 16);
    dash();
    write_word(g.high, 16, 0);
    dash();
    write_word(g.low, 64, 48);
    dash();
    write_word(g.low, 48, 0);
    return to;
}

void append(std::string& text, const guid& g)
{
    char buffer[guid_length()];
    text.append(buffer, write(buffer, g));
}

} // namespace colock::protocol
