// The module of colock-session-guard, which speaks to servers: with the C client, TLS and SASL it takes more time to load than
// the rest.
#include "guard/session_ending.hpp"

#include <boost/asio/io_context.hpp>

#include <cstdlib>
#include <utility>

extern "C" [[gnu::visibility("default")]] colock::guard::end_sessions_and_exit colock_end_sessions;

void colock_end_sessions(std::vector<colock::guard::ending>& all)
{
    boost::asio::io_context io{1};
    colock::guard::end_sessions(io.get_executor(), std::move(all), [] { std::_Exit(0); });
    io.run();
}
