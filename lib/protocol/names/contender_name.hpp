// Names of contenders: written from a layout, and recognised.
#pragma once

#include <colock/layout.hpp>

#include "guid.hpp"
#include "node_name.hpp"

#include <cstddef>
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
    std::string_view name; // of a list that outlives it: there are queues of ten thousand
    bool shared = false;   // it holds the lock together with others of its kind

    friend bool operator==(const entry&, const entry&) = default;
};

// Of the number that the server appends.
inline constexpr std::size_t number_digits = 10;

// The value of these digits; nothing when there is anything else among them.
[[nodiscard]] std::optional<std::int64_t> number_in(std::string_view digits) noexcept;

// The part of a join's name before the number.
[[nodiscard]] node_name name_prefix(const layout& l, const guid& g, bool shared = false);

// The number of a name that belongs to the layout: it ends in a marker and the server's digits. Whatever
// precedes the marker is the business of who wrote it.
[[nodiscard]] std::optional<std::int64_t> number_of(const layout& l,
                                                    std::string_view name) noexcept;
// Whether it ends in the marker of readers.
[[nodiscard]] bool is_shared(const layout& l, std::string_view name) noexcept;

// The fault of a layout, to be read after "the layout"; empty when there is none.
[[nodiscard]] std::string layout_fault(const layout& l);

// The contenders among the children, lowest number first. Others are left out.
[[nodiscard]] std::vector<entry> contenders(const layout& l,
                                            const std::vector<std::string>& children);
std::vector<entry> contenders(const layout& l, std::vector<std::string>&& children) = delete;

// Whether somebody uses the directory for a lock of another kind that is easily taken for this one, and was there before
// that number: a mutex, a shared_mutex, a semaphore. Between them nothing would exclude anybody.
[[nodiscard]] bool is_of_another_kind(const layout& l, const std::vector<std::string>& children,
                                      std::int64_t before);

// From this own number on a contender is not granted any more: the counter is about to overflow, and the
// numbers behind it repeat and turn negative.
inline constexpr std::int64_t last_number = (std::int64_t{1} << 31) - (std::int64_t{1} << 20);

// From this own number on a contender does not wait in the queue, so that the queue drains and the directory,
// with the counter, can begin anew.
inline constexpr std::int64_t drain_from_number = (std::int64_t{1} << 31) - (std::int64_t{1} << 24);

} // namespace colock::protocol
