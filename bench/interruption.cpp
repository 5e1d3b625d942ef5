#include "interruption.hpp"

#include <atomic>
#include <csignal>
#include <initializer_list>

namespace bench {

namespace {

std::atomic<int> received = 0; // read by any thread
static_assert(std::atomic<int>::is_always_lock_free);

} // namespace

void remember_signals()
{
    struct sigaction action {};
    action.sa_handler = [](int signal) { received = signal; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction before {};
        ::sigaction(signal, nullptr, &before);
        if (before.sa_handler != SIG_IGN) { // nohup
            ::sigaction(signal, &action, nullptr);
        }
    }
}

void check_interruption()
{
    if (const int signal = received; signal != 0) {
        throw interrupted{signal};
    }
}

} // namespace bench
