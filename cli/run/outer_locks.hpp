// The locks under which this process runs: those of each `colock run` above it.
#pragma once

#include <colock/queue_view.hpp>

#include "run/lock_choice.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::cli {

// The nodes of these locks, the outermost first. `all` is what COLOCK_NODES holds, and `innermost` what COLOCK_NODE holds,
// which a `colock` that does not know of the former has set. Both may hold anything: what cannot be a node is left out, and of
// very many only the innermost are kept.
[[nodiscard]] std::vector<std::string> outer_nodes(std::string_view all,
                                                   std::string_view innermost);

// The same, of the environment of this process.
[[nodiscard]] std::vector<std::string> outer_nodes();

// For the command under locks with these nodes: what COLOCK_NODES holds there.
[[nodiscard]] std::string nodes_for_command(std::vector<std::string> outer,
                                            const std::vector<std::string>& own);

// Whether one of these nodes may be in the directory of the lock, or in `leases` of the semaphore: whoever has set it may have
// had another chroot. If so, the command may wait for itself.
[[nodiscard]] bool may_wait_for_itself(const lock_choice& wanted,
                                       const std::vector<std::string>& outer);

// Whether it does, as the queue is: what has one of these nodes ends no sooner than the acquisition does. With the session of
// its own node, once it has one; before that, as if it were the last of the queue. Nothing that others do changes the answer
// from yes to no, but that they leave.
[[nodiscard]] bool waits_for_itself(const lock_choice& wanted, const queue_view& queue,
                                    const std::vector<std::string>& outer,
                                    std::optional<std::int64_t> own_session = {});

} // namespace colock::cli
