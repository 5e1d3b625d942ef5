// What ends the chaos before its time: Ctrl-C, or SIGTERM. The main loop throws, and destructors clear away.
#ifndef COLOCK_TEST_CHAOS_INTERRUPTION_HPP
#define COLOCK_TEST_CHAOS_INTERRUPTION_HPP

#include <csignal>
#include <initializer_list>

namespace chaos {

struct interrupted {};

inline volatile std::sig_atomic_t interruption = 0; // the signal

inline void await_interruption()
{
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        std::signal(number, [](int caught) { interruption = caught; });
    }
}

inline void throw_if_interrupted()
{
    if (interruption != 0) {
        throw interrupted{};
    }
}

} // namespace chaos

#endif
