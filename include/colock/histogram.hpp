// A histogram of times, as `client_stats` has them.
#ifndef COLOCK_HISTOGRAM_HPP
#define COLOCK_HISTOGRAM_HPP

#include <array>
#include <cstdint>

namespace colock {

/// A distribution of times since the client was created, in seconds. As in Prometheus, each bucket includes the counts
/// of the buckets before it.
struct histogram {
    /// The times up to an upper bound.
    struct bucket {
        double upper_bound = 0;             ///< In seconds; inclusive.
        std::uint64_t cumulative_count = 0; ///< Of all times up to the bound.
    };
    /// In ascending order; the bound of the last one is infinite. All histograms have the same bounds: a microsecond, and
    /// from there always twice as much, up to 67.1 s. A later minor version may have more buckets: use `buckets.size()`.
    std::array<bucket, 28> buckets = {};
    std::uint64_t count = 0; ///< Of all times; that of the last bucket.
    double sum = 0;          ///< Of all times, in seconds.
};

} // namespace colock

#endif
