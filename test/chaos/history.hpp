// What `colock history` reads in the servers' files, compared with what the processes wrote.
#ifndef COLOCK_TEST_CHAOS_HISTORY_HPP
#define COLOCK_TEST_CHAOS_HISTORY_HPP

#include "journal.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace chaos {

struct history_findings {
    std::vector<std::string> violations;
    std::size_t agreed = 0;  // turns of which a server's files tell as the journal
    std::size_t in_gaps = 0; // turns of which they say that they know nothing
    // The servers have lost what they had decided, from this zxid on (ZOOKEEPER-4643; docs/other-servers.md): a server's files
    // lack a token of a lock that was held, and a leader found its follower in the state in which that happens.
    std::optional<std::int64_t> lost_from;
};

// Each turn with a token that proved that it held its lock: the node with that token held it then. Of each server. Turns after a
// loss are not compared.
history_findings compare_history(const std::vector<journal>& journals,
                                 const std::vector<std::string>& server_directories);

} // namespace chaos

#endif
