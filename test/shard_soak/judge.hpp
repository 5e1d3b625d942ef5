// What a run proves.
#ifndef COLOCK_TEST_SHARD_SOAK_JUDGE_HPP
#define COLOCK_TEST_SHARD_SOAK_JUDGE_HPP

#include "history.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace soak {

// How long a shard may be without an owner: `lease` for each fault that came meanwhile, and for the one that it came of, and
// `slack`; outages are added. The servers keep the session of a process that is stopped for its time-out and a tick, and
// nobody takes the shards meanwhile, neither its own, nor those that were assigned to it just before; when it led the
// group, those of others are not assigned meanwhile. The slack is for the machine, and for what is prepared.
struct limits {
    nanoseconds lease = 0;
    nanoseconds slack = 0;
};

// Why a shard was without an owner.
enum class cause { killed, left, moved, stopped, cut_off };
std::string name_of(cause c);

// `alone`: no other process was stopped, and the server served.
struct kind_of_gap {
    cause why;
    bool alone;

    auto operator<=>(const kind_of_gap&) const = default;
};

struct findings {
    std::vector<std::string> violations;
    std::map<kind_of_gap, std::vector<nanoseconds>> gaps; // of one shard each
    // From the kill of a process until all its shards were owned again, alone or not.
    std::map<bool, std::vector<nanoseconds>> recoveries;
    nanoseconds longest = 0;    // gap
    std::string longest_of;     // which, and what it may be
    std::vector<write> refused; // by the fence
    std::size_t late = 0;       // writes after their bound, of processes that were stopped
    std::size_t turns = 0;
    std::size_t writes = 0;
};

findings judge(const history& h, const limits& l);

} // namespace soak

#endif
