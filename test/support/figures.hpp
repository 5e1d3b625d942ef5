#ifndef COLOCK_TEST_SUPPORT_FIGURES_HPP
#define COLOCK_TEST_SUPPORT_FIGURES_HPP

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace colock::test {

inline double milliseconds(std::chrono::nanoseconds d)
{
    return std::chrono::duration<double, std::milli>(d).count();
}

/// The value below which that part of all lies: 0.5 is the median. Precondition: there are some.
inline double quantile(std::vector<double> values, double part)
{
    const auto last = static_cast<double>(values.size() - 1);
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(part * last + 0.5);
    std::ranges::nth_element(values, at);
    return *at;
}

/// What else the machine does can only make a time longer: the best of several rounds is the figure.
/** `round` measures, prints its figures, and returns whether they are good enough. */
template <class Round>
bool best_of_rounds(Round round)
{
    for (int i = 0; i != 8; ++i) {
        if (round()) {
            return true;
        }
    }
    return false;
}

} // namespace colock::test

#endif
