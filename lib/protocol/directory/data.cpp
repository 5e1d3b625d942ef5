#include "data.hpp"

#include "protocol/names/contender_name.hpp"

namespace colock::protocol {

namespace {

// What a queue consists of are the names with this marker and what they have to begin with. Neither has a '/'.
std::string before_number(const layout& l)
{
    return std::string{directory_signature} + "\nnobody is left up to " + l.required_prefix + '/' +
           l.marker;
}

} // namespace

bool is_signed(std::string_view data) noexcept
{
    return data.starts_with(directory_signature) &&
           (data.size() == directory_signature.size() || data[directory_signature.size()] == '\n');
}

std::string data_with_low_water_mark(const layout& l, std::int64_t number)
{
    const auto digits = std::to_string(number);
    return before_number(l) + std::string(number_digits - digits.size(), '0') + digits;
}

std::int64_t low_water_mark_in(const layout& l, std::string_view data)
{
    const auto before = before_number(l);
    if (!data.starts_with(before) || data.size() != before.size() + number_digits) {
        return -1;
    }
    return number_in(data.substr(before.size())).value_or(-1);
}

} // namespace colock::protocol
