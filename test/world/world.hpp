// One world, from its seed.
#pragma once

#include "check/findings.hpp"
#include "check/journal.hpp"
#include "rarity.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace world {

struct world_options {
    std::uint64_t seed = 1;
    unsigned minutes = 1; // simulated
    bool keeps_journal = false;
    bool thronged = false;           // by thousands of clients, as one world in a thousand is
    std::optional<rarity> rare = {}; // instead of what the seed draws
    bool too_small_ticks = false;    // client_options::tick is too small: G5 is not promised then
};

struct outcome {
    std::uint64_t seed = 0;
    std::uint64_t hash = 0; // of the history
    std::size_t violations = 0;
    std::vector<check::violation> first; // of them
    instant end{};
    std::uint64_t grants = 0;
    std::uint64_t operations = 0;
    std::uint64_t transactions = 0;
    std::size_t troubles = 0;
};

class simulation {
public:
    explicit simulation(const world_options& options);
    simulation(const simulation&) = delete;
    simulation& operator=(const simulation&) = delete;
    ~simulation();

    outcome run();
    [[nodiscard]] const check::journal& journal() const;

private:
    struct parts;
    std::unique_ptr<parts> parts_;
};

} // namespace world
