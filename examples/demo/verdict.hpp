// What the runs have come to.
#ifndef COLOCK_EXAMPLES_DEMO_VERDICT_HPP
#define COLOCK_EXAMPLES_DEMO_VERDICT_HPP

#include "race.hpp"
#include "timeline.hpp"

#include <cstdint>

namespace demo {

// Prints what was checked. True when all is as it has to be.
bool judge(const outcome& o, const timeline& shown);

// How many updates were overwritten by somebody who had read before them.
std::uint64_t lost_updates(const outcome& o);

} // namespace demo

#endif
