#include <colock/fencing_token.hpp>

#include <ostream>

namespace colock {

std::string to_string(const fencing_token& token)
{
    constexpr char digits[] = "0123456789abcdef";
    std::string text(32, '0');
    for (unsigned i = 0; i != 16; ++i) {
        text[15 - i] = digits[(token.high() >> (4 * i)) & 0xf];
        text[31 - i] = digits[(token.low() >> (4 * i)) & 0xf];
    }
    return text;
}

std::ostream& operator<<(std::ostream& out, const fencing_token& token)
{
    return out << to_string(token);
}

} // namespace colock
