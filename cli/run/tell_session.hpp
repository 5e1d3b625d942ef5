// Says that there is a session, and what the servers are.
#pragma once

#include <colock/client.hpp>

#include "run/events.hpp"
#include "run/run_basis.hpp"

#include <boost/asio/io_context.hpp>

namespace colock::cli {

// With -v also asks the servers, for which nobody waits. All that is named lives until the context has stopped.
void tell_session(boost::asio::io_context& context, const client& zk, const run_basis& what,
                  events& say);

} // namespace colock::cli
