#include "guid.hpp"

namespace colock::protocol {

void append(std::string& text, const guid& g, bool dashed)
{
    constexpr char digits[] = "0123456789abcdef";
    for (int i = 0; i != 32; ++i) {
        if (dashed && (i == 8 || i == 12 || i == 16 || i == 20)) {
            text += '-';
        }
        const auto word = i < 16 ? g.high : g.low;
        text += digits[(word >> (60 - 4 * (i % 16))) & 0xf];
    }
}

} // namespace colock::protocol
