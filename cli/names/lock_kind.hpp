// Which kind of lock the names in a directory are of.
#pragma once

#include <colock/layout.hpp>

#include "lib/names/kinds.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::cli {

// Null where there is no lock.
using seen_kind = const colock::detail::lock_kind*;
namespace kinds = colock::detail::kinds;

// For people: "mutex", "reader/writer lock".
[[nodiscard]] std::string_view words_for(seen_kind k);
// "a mutex", "an election".
[[nodiscard]] std::string with_article(std::string_view words);
// For scripts, and for --kind: "mutex", "shared_mutex".
[[nodiscard]] std::string_view word_for(seen_kind k);
[[nodiscard]] std::optional<seen_kind> kind_from(std::string_view word);
// The kinds' words, for --kind and its help.
[[nodiscard]] std::vector<std::string> all_kind_words();

// One queue in a directory.
struct queue_kind {
    seen_kind what = nullptr;
    layout names;
    std::size_t count = 0;
    std::string example; // the name of one of its nodes, the first one in the order of names
};

// What a child's name says that it is; none when it is no contender.
[[nodiscard]] std::optional<queue_kind> kind_of(std::string_view name);

// Whether a node with this name stands in a queue, of colock or of another library: a word for it, and ten digits.
[[nodiscard]] bool is_contender_name(std::string_view name);

// The queues whose nodes are among these names, the longest one first. A directory with `leases` is a semaphore, whose
// example is "leases".
[[nodiscard]] std::vector<queue_kind> kinds_among(const std::vector<std::string>& names);

// What a node with this name has done since it was made: "in the queue for", waiting included; of a permit, which has its node
// since it was granted, "for".
[[nodiscard]] std::string_view words_before_age(std::string_view name);

using colock::detail::lease_layout;

} // namespace colock::cli
