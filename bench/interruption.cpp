#include "interruption.hpp"

#include <csignal>
#include <initializer_list>

namespace bench {

namespace {

volatile std::sig_atomic_t received = 0;

} // namespace

void remember_signals()
{
    struct sigaction action {};
    action.sa_handler = [](int signal) { received = signal; };
    action.sa_flags = SA_RESETHAND;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        ::sigaction(signal, &action, nullptr);
    }
}

void check_interruption()
{
    if (received != 0) {
        throw interrupted{received};
    }
}

} // namespace bench
