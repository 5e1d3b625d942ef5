#include <colock/fencing_token.hpp>

#include <charconv>
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

std::optional<fencing_token> fencing_token::parse(std::string_view text) noexcept
{
    constexpr std::size_t half = 16;
    std::uint64_t parts[2] = {};
    if (text.size() != 2 * half) {
        return std::nullopt;
    }
    const auto* begin = text.data();
    for (auto& part : parts) {
        const auto [end, ec] = std::from_chars(begin, begin + half, part, 16);
        if (ec != std::errc{} || end != begin + half) {
            return std::nullopt;
        }
        begin = end;
    }
    return fencing_token{parts[0], parts[1]};
}

std::ostream& operator<<(std::ostream& out, const fencing_token& token)
{
    return out << to_string(token);
}

} // namespace colock
