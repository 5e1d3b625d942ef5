// Finds faults in the options of a lock, and differences from other lock objects at the same path.
#pragma once

#include <colock/lock_options.hpp>

#include "names/kinds.hpp"
#include "session/core.hpp"

#include <string>

namespace colock::detail {

// With the layout of this kind, where none was said.
[[nodiscard]] lock_options with_default_layout(lock_options o, const lock_kind& kind);
// For people: what is wrong with the options of a lock of this kind; empty when nothing is.
[[nodiscard]] std::string fault_of(const lock_options& o, const lock_kind& kind);
// For people, of objects that want the same path: which option differs, such as "linger is 0 ms there and 9 ms
// here"; empty when none does. And what they take the path for.
[[nodiscard]] std::string difference(const lock_options& there, const lock_options& here,
                                     const lock_kind& kind);
[[nodiscard]] std::string difference(const path_entry& there, const lock_kind& here);

} // namespace colock::detail
