// Interleaves what is to be compared, so that whatever else the machine does hits all of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace bench {

// One system under measurement. A slice of its work gives a value for each metric.
struct contestant {
    std::string system;
    std::function<std::vector<double>()> slice;
    std::string arrangement = {}; // of a system that is measured in several
};

// What one of them came to, by metric, then by round.
struct outcome {
    std::string failure; // of a slice; there is nothing else then, and no further slice was tried
    std::vector<std::vector<double>> values;
    // The same relative to the last contestant, unless that failed: the two slices that lie beside each other are
    // divided, which is steadier on a shared machine than the ratio of two medians.
    std::vector<std::vector<double>> relative;
};

struct schedule {
    int rounds = 1;
    int slices = 1; // of each contestant in a round
};

// A B, B A, A B, ... Each value is the median over the slices of a round. The outcomes are in the
// order of the contestants. Precondition: there are some, and all have the same metrics.
[[nodiscard]] std::vector<outcome> interleave(const std::vector<contestant>& all, schedule s);

// The middle of the values, or of the two in the middle. Precondition: there are some.
[[nodiscard]] double median(std::vector<double> values);

} // namespace bench
