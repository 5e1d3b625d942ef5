// In place of certificate_look.cpp where colock was built without TLS: no options have a context there.
#include "health/certificate_look.hpp"

namespace colock::cli {

boost::asio::awaitable<void> look_at_certificates(const client_options&, findings&)
{
    co_return;
}

} // namespace colock::cli
