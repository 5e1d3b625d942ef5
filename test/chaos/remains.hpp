// What should go, and is waited for.
#ifndef COLOCK_TEST_CHAOS_REMAINS_HPP
#define COLOCK_TEST_CHAOS_REMAINS_HPP

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace chaos {

// What `find` finds when that is nothing, or after the limit. It is asked again after each pause.
inline std::vector<std::string> remains(std::chrono::seconds limit, std::chrono::milliseconds pause,
                                        const std::function<std::vector<std::string>()>& find)
{
    const auto deadline = std::chrono::steady_clock::now() + limit;
    for (;;) {
        auto found = find();
        if (found.empty() || std::chrono::steady_clock::now() > deadline) {
            return found;
        }
        std::this_thread::sleep_for(pause);
    }
}

} // namespace chaos

#endif
