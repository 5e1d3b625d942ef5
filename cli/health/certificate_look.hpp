// The certificates that servers show, and our own.
#pragma once

#include <colock/client_options.hpp>

#include "health/findings.hpp"

#include <boost/asio/awaitable.hpp>

namespace colock::cli {

// Speaks TLS with each server of the options, which have a context, as far as its certificate.
[[nodiscard]] boost::asio::awaitable<void> look_at_certificates(const client_options& options,
                                                                findings& found);

} // namespace colock::cli
