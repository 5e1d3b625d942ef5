// What the parts of a world are like.
#pragma once

#include "check/queues.hpp"
#include "check/rendezvous.hpp"
#include "check/shards.hpp"
#include "rarity.hpp"
#include "simulated.hpp"
#include "workload/scene.hpp"

#include <chrono>
#include <string>

namespace world {

// Clocks run at rates that differ by less than a hundredth.
[[nodiscard]] int some_drift(random& chance);

[[nodiscard]] ensemble_options draw_ensemble(random& chance, rarity rare);

[[nodiscard]] workload::shared_work draw_shards(std::string path,
                                                std::chrono::milliseconds least_timeout,
                                                random& own, check::queues& queues,
                                                check::shards& shards);

[[nodiscard]] check::rendezvous::place draw_meeting(const std::string& base, random& own);

} // namespace world
