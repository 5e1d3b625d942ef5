// How fast a world is that runs an example.
#pragma once

#include <colock/testing/world.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <sstream>

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
    const auto start = std::chrono::steady_clock::now();
    w.run_for(simulated);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("figure: %.0f simulated seconds a real second\n",
                static_cast<double>(simulated.count()) / took.count());
#ifdef NDEBUG // the release build
    BOOST_TEST(took.count() * 1000 < static_cast<double>(simulated.count()));
#endif
}

} // namespace world::examples
