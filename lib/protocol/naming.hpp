// Names of contenders: written from a layout, and recognised.
#pragma once

#include <colock/layout.hpp>

#include "guid.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::protocol {

// A child of a lock's directory that stands in its queue.
struct entry {
    std::int64_t number =
        0; // as the server wrote it; negative once its 32-bit counter has overflowed
    std::string name;

    friend bool operator==(const entry&, const entry&) = default;
};

// What precedes the number in the name of a join.
[[nodiscard]] std::string name_prefix(const layout& l, const guid& g);

// The number of a name that belongs to the layout: it ends in the marker and the server's digits. Whatever
// precedes the marker is the business of who wrote it.
[[nodiscard]] std::optional<std::int64_t> number_of(const layout& l,
                                                    std::string_view name) noexcept;

// The contenders among the children, lowest number first. Others are left out.
[[nodiscard]] std::vector<entry> contenders(const layout& l,
                                            const std::vector<std::string>& children);

// From this own number on a contender is not granted any more: the counter is about to overflow, and the
// numbers behind it repeat and turn negative.
inline constexpr std::int64_t last_number = (std::int64_t{1} << 31) - (std::int64_t{1} << 20);

} // namespace colock::protocol
