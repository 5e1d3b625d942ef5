// Finds faults in the options of a lock, and differences from other lock objects at the same path.
#pragma once

#include <colock/error.hpp>
#include <colock/lock_options.hpp>

#include "names/kinds.hpp"
#include "session/faults.hpp"
#include "session/path_table.hpp"

#include <string>

namespace colock::detail {

// With the layout of this kind, if it takes one and none was said.
[[nodiscard]] lock_options with_default_layout(lock_options o, const lock_kind& kind);
// For people: what is wrong with the options of a lock of this kind; empty when nothing is.
[[nodiscard]] std::string fault_of(const lock_options& o, const lock_kind& kind);
// Of an acquisition without a body: what only a body can honour.
[[nodiscard]] fault fault_of_guard(const lock_options& o);
// Of objects that want the same path: whether they take it for the same, with equal options. It tells the first that differs, such
// as "linger is 0 ms there and 9 ms here". So does `differs`, if it has something to tell.
[[nodiscard]] fault conflict(const path_entry& there, const lock_options& here,
                             const lock_kind& kind, std::string differs = {});

} // namespace colock::detail
