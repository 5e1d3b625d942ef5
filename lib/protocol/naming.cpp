#include "naming.hpp"

#include <algorithm>
#include <charconv>

namespace colock::protocol {

namespace {

constexpr std::size_t digit_count = 10;

} // namespace

std::string name_prefix(const layout& l, const guid& g)
{
    return l.prefix + to_string(g) + '-' + l.marker;
}

std::optional<std::int64_t> number_of(const layout& l, std::string_view name) noexcept
{
    if (name.size() < digit_count) {
        return std::nullopt;
    }
    auto begin = name.size() - digit_count;
    const auto digits = name.substr(begin);
    if (!std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) {
        return std::nullopt;
    }
    // A marker may itself end in '-', so "lock-" and "lock--" are told apart by what precedes.
    const bool negative = name.substr(0, begin).ends_with(l.marker + '-');
    if (negative) {
        --begin;
    }
    if (!name.substr(0, begin).ends_with(l.marker)) {
        return std::nullopt;
    }
    std::int64_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (negative && number == 0) {
        return std::nullopt; // no counter yields it
    }
    return negative ? -number : number;
}

std::vector<entry> contenders(const layout& l, const std::vector<std::string>& children)
{
    std::vector<entry> all;
    all.reserve(children.size());
    for (const auto& name : children) {
        if (const auto number = number_of(l, name)) {
            all.push_back({*number, name});
        }
    }
    std::ranges::sort(all, {}, &entry::number);
    return all;
}

} // namespace colock::protocol
