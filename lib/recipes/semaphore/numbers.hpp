// How the numbers of a semaphore are written into ZooKeeper.
#pragma once

#include "names/contender_name.hpp"
#include "names/kinds.hpp"
#include "names/taken_text.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::protocol::permits {

// What Curator's SharedCount has written: four bytes, the highest first. Empty when it is no such number, or negative.
[[nodiscard]] inline std::optional<std::int64_t> limit_in(std::string_view data)
{
    std::uint32_t bits = 0;
    for (const char c : data) {
        bits = bits << 8 | static_cast<unsigned char>(c);
    }
    const auto number = static_cast<std::int32_t>(bits);
    return data.size() == 4 && number >= 0 ? std::optional<std::int64_t>{number} : std::nullopt;
}

// What colock writes into the directory of the leases, so that clients notice when they disagree.
inline constexpr std::string_view maximum_key = "permits=";

[[nodiscard]] inline std::string maximum_text(std::int64_t permits)
{
    return std::string{maximum_key} + std::to_string(permits);
}

[[nodiscard]] inline std::optional<std::int64_t> maximum_in(std::string_view data)
{
    const bool is_one = take(data, maximum_key);
    const auto number = take_number<std::int64_t>(data);
    return is_one && number && *number >= 0 && data.empty() ? number : std::nullopt;
}

using detail::lease_layout;

[[nodiscard]] inline std::int64_t leases_among(const std::vector<std::string>& children)
{
    return static_cast<std::int64_t>(contenders(lease_layout(), children).size());
}

} // namespace colock::protocol::permits
