// Where the name of a node places its contender in a queue, and who at its front holds the lock. The library and the program
// read it.
#pragma once

#include <colock/layout.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace colock::detail {

// The value of these digits; nothing when there is anything else among them.
[[nodiscard]] inline std::optional<std::int64_t> number_in(std::string_view digits) noexcept
{
    std::int64_t number = 0;
    for (const char c : digits) {
        if (c < '0' || c > '9') {
            return std::nullopt;
        }
        number = 10 * number + (c - '0');
    }
    return number;
}

// The number after a marker: ten digits, and a sign once the server's 32-bit counter has overflowed.
[[nodiscard]] inline std::optional<std::int64_t> number_behind(std::string_view marker,
                                                               std::string_view name) noexcept
{
    constexpr std::size_t digits = 10;
    if (name.size() < digits) {
        return std::nullopt;
    }
    const auto number = number_in(name.substr(name.size() - digits));
    if (!number) {
        return std::nullopt;
    }
    // A marker may itself end in '-', so "lock-" and "lock--" are told apart by what precedes.
    const auto before = name.substr(0, name.size() - digits);
    const bool negative =
        before.ends_with('-') && before.substr(0, before.size() - 1).ends_with(marker);
    if (!negative && !before.ends_with(marker)) {
        return std::nullopt;
    }
    if (negative && *number == 0) {
        return std::nullopt; // no counter yields it
    }
    return negative ? -*number : *number;
}

// In the order of the queue. A reader that was a writer has its number, and comes after the writer while both are there.
struct standing {
    std::int64_t number = 0;
    bool shared = false;

    // NOLINTNEXTLINE(modernize-use-nullptr): it takes 0 in comparisons for a pointer
    auto operator<=>(const standing&) const = default;
};

// Nothing when the name is no contender's of this layout.
[[nodiscard]] inline std::optional<standing> standing_of(const layout& l,
                                                         std::string_view name) noexcept
{
    if (!name.starts_with(l.required_prefix)) {
        return std::nullopt;
    }
    if (const auto number = number_behind(l.marker, name)) {
        return standing{*number, false};
    }
    if (!l.shared_marker.empty()) {
        if (const auto number = number_behind(l.shared_marker, name)) {
            return standing{*number, true};
        }
    }
    return std::nullopt;
}

// How many at the front of a queue hold the lock: the first one, and those that share it with all before them. `shared` tells
// of an element whether it does.
template <class Queue, class Shared>
[[nodiscard]] std::size_t holders_at_front(const Queue& queue, Shared shared)
{
    const auto alone = std::ranges::find(queue, false, shared);
    const auto sharing = static_cast<std::size_t>(std::ranges::distance(queue.begin(), alone));
    return sharing == 0 && alone != queue.end() ? 1 : sharing;
}

} // namespace colock::detail
