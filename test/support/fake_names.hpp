#ifndef COLOCK_TEST_SUPPORT_FAKE_NAMES_HPP
#define COLOCK_TEST_SUPPORT_FAKE_NAMES_HPP

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace colock::test {

/// A name service for tests, in place of the system's.
/**
 * A program that lists fake_names.cpp among its sources, and has ENABLE_EXPORTS, uses it everywhere: its own
 * definition of `getaddrinfo` comes before the system's, also for the libraries that it loads. Numbers are
 * what they are. Of names there are four, all others are unknown:
 *  - good.test is 127.0.0.1,
 *  - slow.test as well, after `slowness`,
 *  - failing.test fails: the name server is out of order.
 */
struct fake_names {
    static constexpr std::chrono::milliseconds slowness{5'000};

    struct lookup {
        std::string name;
        std::thread::id thread;
    };

    /// The look-ups of names, not of numbers, since the program began.
    static std::vector<lookup> lookups();

    /// How many of them were for this name.
    static std::size_t count(const std::string& name);

    /// Whether any was made by the thread that asks. Asio looks names up in a thread of its own.
    static bool any_in_this_thread();
};

} // namespace colock::test

#endif
