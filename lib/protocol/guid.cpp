#include "guid.hpp"

namespace colock::protocol {

std::string to_string(const guid& g)
{
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(36);
    for (int i = 0; i != 32; ++i) {
        if (i == 8 || i == 12 || i == 16 || i == 20) {
            text += '-';
        }
        const auto word = i < 16 ? g.high : g.low;
        text += digits[(word >> (60 - 4 * (i % 16))) & 0xf];
    }
    return text;
}

} // namespace colock::protocol
