#include "run/variables.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace colock::cli {

namespace {

constexpr std::string_view none = "-"; // in the place of a length

// colock sets no others, so a message that names another one is not the supervisor's.
bool is_name(std::string_view name)
{
    return name.starts_with("COLOCK_") &&
           std::ranges::all_of(name, [](char c) { return c == '_' || (c >= 'A' && c <= 'Z'); });
}

bool is_value(std::string_view value)
{
    return value.find('\0') == value.npos;
}

// Up to a character that is in none of the fields that are taken so; nothing when there is none.
std::optional<std::string_view> take_until(char end, std::string_view& text)
{
    const auto size = text.find(end);
    if (size == text.npos) {
        return std::nullopt;
    }
    const auto taken = text.substr(0, size);
    text.remove_prefix(size + 1);
    return taken;
}

std::optional<std::size_t> size_in(std::string_view digits)
{
    std::size_t size = 0;
    const auto* const end = digits.data() + digits.size();
    const auto [at, ec] = std::from_chars(digits.data(), end, size);
    return ec == std::errc{} && at == end ? std::optional{size} : std::nullopt;
}

} // namespace

std::string packed(const std::vector<variable>& all)
{
    std::string text;
    for (const auto& [name, value] : all) {
        if (!is_name(name) || (value && !is_value(*value))) {
            throw std::invalid_argument{"a variable that no environment can have"};
        }
        text += name + '=' + (value ? std::to_string(value->size()) : std::string{none}) + ':' +
                value.value_or("");
    }
    return text;
}

std::optional<std::vector<variable>> unpacked(std::string_view text)
{
    std::vector<variable> all;
    while (!text.empty()) {
        const auto name = take_until('=', text);
        const auto length = name && is_name(*name) ? take_until(':', text) : std::nullopt;
        if (!length) {
            return std::nullopt;
        }
        variable next{std::string{*name}, std::nullopt};
        if (*length != none) {
            const auto size = size_in(*length);
            if (!size || *size > text.size() || !is_value(text.substr(0, *size))) {
                return std::nullopt;
            }
            next.value = text.substr(0, *size);
            text.remove_prefix(*size);
        }
        all.push_back(std::move(next));
    }
    return all;
}

} // namespace colock::cli
