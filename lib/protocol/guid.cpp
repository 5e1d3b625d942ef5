#include "guid.hpp"

namespace colock::protocol {

void append(std::string& text, const guid& g, bool dashed)
{
    constexpr char digits[] = "0123456789abcdef";
    char buffer[guid_length];
    char* end = buffer;
    for (int i = 0; i != 32; ++i) {
        if (dashed && (i == 8 || i == 12 || i == 16 || i == 20)) {
            *end++ = '-';
        }
        const auto word = i < 16 ? g.high : g.low;
        *end++ = digits[(word >> (60 - 4 * (i % 16))) & 0xf];
    }
    text.append(buffer, end);
}

} // namespace colock::protocol
