// What the journals of a run must not show.
//
// A turn proves that its holder had the lock from its first line "holds" to its last one: a guard that is lost stays
// lost. Each of these lines has a time that was read before the guard was asked. So a process that is stopped, or has
// to wait for a processor, proves less and never too much, and two proofs that overlap are a violation on any machine.
#ifndef COLOCK_TEST_CHAOS_CHECKER_HPP
#define COLOCK_TEST_CHAOS_CHECKER_HPP

#include "journal.hpp"
#include "register.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace chaos {

struct findings {
    std::vector<std::string> violations;
    std::size_t turns = 0;    // that were granted
    std::size_t lost = 0;     // of these: the holder was told of a loss
    std::size_t rejected = 0; // writes that the register refused
    // How long before the next one's grant those were told who ran then, the shortest first.
    std::vector<nanoseconds> leads;
};

// Exclusion (G1), tokens that rise with the turns (G1, and with them the order of G2), holders that are told before
// the next one is granted (G5), operations that complete exactly once (G6), and the register's part.
findings check(const std::vector<journal>& journals, const std::vector<register_entry>& accepted,
               std::uint64_t permits);

// How many turns at each lock were granted to this process since then.
std::map<std::string, std::size_t> granted_at(const journal& j, nanoseconds since = 0);

} // namespace chaos

#endif
