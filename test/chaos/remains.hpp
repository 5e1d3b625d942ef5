// What should go, and is waited for.
#ifndef COLOCK_TEST_CHAOS_REMAINS_HPP
#define COLOCK_TEST_CHAOS_REMAINS_HPP

#include <support/wait_until.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace chaos {

// What `find` finds when that is nothing, or after the limit. It asks many processes or servers: hence the pauses.
inline std::vector<std::string> remains(std::chrono::seconds limit,
                                        std::chrono::milliseconds longest_pause,
                                        const std::function<std::vector<std::string>()>& find)
{
    std::vector<std::string> found;
    colock::test::wait_until(
        [&] {
            found = find();
            return found.empty();
        },
        limit, longest_pause);
    return found;
}

} // namespace chaos

#endif
