// Takes a text apart from its front. Sans-io.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace colock::protocol {

inline bool take(std::string_view& text, std::string_view prefix)
{
    const bool has = text.starts_with(prefix);
    text.remove_prefix(has ? prefix.size() : 0);
    return has;
}

template <class Number>
std::optional<Number> take_number(std::string_view& text)
{
    Number number{};
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (ec != std::errc{}) {
        return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

} // namespace colock::protocol
