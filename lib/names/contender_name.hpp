// Names of contenders: written from a layout, and recognised.
#pragma once

#include <colock/layout.hpp>

#include "names/guid.hpp"
#include "names/node_name.hpp"

#include <boost/container/small_vector.hpp>

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
// Most queues are short.
using entries = boost::container::small_vector<entry, 4>;

// Of the number that the server appends.
inline constexpr std::size_t number_digits = 10;

// The part of a join's name before the number.
[[nodiscard]] node_name name_prefix(const layout& l, const guid& g, bool shared = false);

// By how many characters the name of a reader is longer than that of a writer.
[[nodiscard]] std::size_t longer_name_of_reader(const layout& l) noexcept;

// The number of a name that belongs to the layout: it ends in a marker and the server's digits. Whatever
// precedes the marker is the business of who wrote it.
[[nodiscard]] std::optional<std::int64_t> number_of(const layout& l,
                                                    std::string_view name) noexcept;
// Whether it ends in the marker of readers.
[[nodiscard]] bool is_shared(const layout& l, std::string_view name) noexcept;

// The fault of a layout, to be read after "the layout"; empty when there is none.
[[nodiscard]] std::string layout_fault(const layout& l);

// The contenders among the children, lowest number first. Others are left out.
[[nodiscard]] entries contenders(const layout& l, const std::vector<std::string>& children);
entries contenders(const layout& l, std::vector<std::string>&& children) = delete;

// Whether somebody uses the directory for a lock of another kind, which can be told by its names, and was there before that
// number. Between them nothing would exclude anybody. False where the names of `l` tell no kind.
[[nodiscard]] bool is_of_another_kind(const layout& l, const std::vector<std::string>& children,
                                      std::int64_t before);
// Whether some lock whose kind can be told by its names has its queue among these.
[[nodiscard]] bool has_contenders(const std::vector<std::string>& children);

// From this own number on a contender is not granted any more: the counter is about to overflow, and the
// numbers after it repeat and turn negative.
inline constexpr std::int64_t last_number = (std::int64_t{1} << 31) - (std::int64_t{1} << 20);

// From this own number on a contender that finds others makes way, so that the queue empties and the directory, with the
// counter, can begin anew.
inline constexpr std::int64_t late_from_number = (std::int64_t{1} << 31) - (std::int64_t{1} << 24);

} // namespace colock::protocol
