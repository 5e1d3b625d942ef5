// How long a pause is that grows. Sans-io.
#pragma once

#include <algorithm>
#include <chrono>
#include <random>

namespace colock::protocol {

// Doubles with each step, from `first` at step 0 to `most`, and loses up to half of itself at random.
template <class Random>
[[nodiscard]] std::chrono::nanoseconds growing_pause(unsigned step, std::chrono::milliseconds first,
                                                     std::chrono::milliseconds most, Random& random)
{
    using seconds = std::chrono::duration<double>; // which does not overflow
    const auto full = std::min<seconds>(most, first * double(1U << std::min(step, 16U)));
    std::uniform_real_distribution<double> part{0.5, 1.0};
    return std::chrono::duration_cast<std::chrono::nanoseconds>(full * part(random));
}

} // namespace colock::protocol
