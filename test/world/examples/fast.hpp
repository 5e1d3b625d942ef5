// How fast a world is that runs an example.
#pragma once

#include <colock/testing/world.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <sstream>
#include <string_view>

namespace world::examples {

// What the example prints is kept, not shown.
class printed {
public:
    printed() : before_{std::cout.rdbuf(text_.rdbuf())} {}
    printed(const printed&) = delete;
    printed& operator=(const printed&) = delete;
    ~printed() { std::cout.rdbuf(before_); }

    [[nodiscard]] std::size_t count(std::string_view what) const
    {
        std::size_t found = 0;
        const auto text = text_.str();
        for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1)) {
            ++found;
        }
        return found;
    }

private:
    std::ostringstream text_;
    std::streambuf* before_;
};

inline void run_fast(colock::testing::world& w, std::chrono::seconds simulated)
{
    const auto start = std::clock();
    w.run_for(simulated);
    const auto took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    const auto speed = static_cast<double>(simulated.count()) / took;
    std::printf("figure: %.0f simulated seconds a second of the processor\n", speed);
#ifdef NDEBUG // the release build
    BOOST_TEST(speed > 1000);
#endif
}

} // namespace world::examples
