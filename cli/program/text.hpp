// Numbers in a text, and a text of many.
#pragma once

#include <charconv>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace colock::cli {

// Nothing when the text is anything but one number of that type.
template <class Number>
[[nodiscard]] std::optional<Number> number_in(std::string_view text, int base = 10)
{
    Number number = 0;
    const auto* const end = text.data() + text.size();
    const auto [rest, ec] = std::from_chars(text.data(), end, number, base);
    return ec == std::errc{} && rest == end ? std::optional{number} : std::nullopt;
}

// `as_text` of each, which is a string, with `between` in between.
template <class Range, class Projection = std::identity>
[[nodiscard]] std::string joined(const Range& all, std::string_view between,
                                 Projection as_text = {})
{
    std::string text;
    for (const auto& each : all) {
        if (!text.empty()) {
            text += between;
        }
        text += std::invoke(as_text, each);
    }
    return text;
}

} // namespace colock::cli
