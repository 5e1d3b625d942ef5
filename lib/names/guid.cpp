#include "names/guid.hpp"

namespace colock::protocol {

char* write(char* to, const guid& g, bool dashed)
{
    constexpr char digits[] = "0123456789abcdef";
    unsigned written = 0;
    for (const auto word : {g.high, g.low}) {
        for (int shift = 60; shift >= 0; shift -= 4, ++written) {
            if (dashed && (written == 8 || written == 12 || written == 16 || written == 20)) {
                *to++ = '-';
            }
            *to++ = digits[(word >> shift) & 0xf];
        }
    }
    return to;
}

void append(std::string& text, const guid& g)
{
    char buffer[guid_length()];
    text.append(buffer, write(buffer, g));
}

} // namespace colock::protocol
