// What --tls and its kind stand for.
#pragma once

#include "connect/server_options.hpp"

namespace colock::cli {

// Throws failure when a file cannot be used, or options contradict each other.
void add_tls(client_options& to, const server_options& options);

} // namespace colock::cli
