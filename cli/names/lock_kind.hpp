// Which kind of lock the names in a directory are of.
#pragma once

#include <colock/layout.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::cli {

enum class kind {
    none,
    mutex, // of colock, of Curator, of go-zookeeper: one queue
    shared_mutex,
    election,
    semaphore,
    kazoo,
    recipe, // that comes with ZooKeeper
    named,  // one of several in a directory
    single_node,
};

// For people: "mutex", "reader/writer lock".
[[nodiscard]] std::string_view words_for(kind k);
// For scripts, and for --kind: "mutex", "shared_mutex".
[[nodiscard]] std::string_view word_for(kind k);
[[nodiscard]] std::optional<kind> kind_from(std::string_view word);
// The kinds' words, for --kind and its help.
[[nodiscard]] std::vector<std::string> all_kind_words();

// One queue in a directory.
struct queue_kind {
    kind what = kind::none;
    layout names;
    std::size_t count = 0;
    std::string example; // the name of one of its nodes, the first one in the order of names
};

// What a child's name says that it is; none when it is no contender.
[[nodiscard]] std::optional<queue_kind> kind_of(std::string_view name);

// Whether a node with this name stands in a queue, of colock or of another library: a word for it, and ten digits.
[[nodiscard]] bool is_contender_name(std::string_view name);

// The queues whose nodes are among these names, the longest one first. A directory with `locks` and `leases` is a
// semaphore, whose example is "leases".
[[nodiscard]] std::vector<queue_kind> kinds_among(const std::vector<std::string>& names);

// The permits of a semaphore, below `leases`.
[[nodiscard]] layout lease_layout();

} // namespace colock::cli
