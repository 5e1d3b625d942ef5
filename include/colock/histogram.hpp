// A histogram of times, as `client_stats` has them.
#ifndef COLOCK_HISTOGRAM_HPP
#define COLOCK_HISTOGRAM_HPP

#include <array>
#include <cstddef>
#include <cstdint>

namespace colock {

/// How many times lasted how long, since the client was made. In seconds, as Prometheus has it: each bucket also counts
/// what the buckets before it count.
struct histogram {
    /// Those that lasted at most so long.
    struct bucket {
        double upper_bound = 0;             ///< In seconds; a time of exactly so much counts here.
        std::uint64_t cumulative_count = 0; ///< Of all times that lasted at most so long.
    };
    /// The upper bounds are the same in every histogram and do not change: a microsecond, and from there always twice as
    /// much, up to 67.1 s. The bound of the last bucket is infinite.
    std::array<bucket, 28> buckets = {};
    std::uint64_t count = 0; ///< Of all times; that of the last bucket.
    double sum = 0;          ///< Of all times, in seconds.
};

} // namespace colock

#endif
