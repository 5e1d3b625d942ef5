// `colock elect --follow`: who leads, as that changes.
#pragma once

#include "connect/server_options.hpp"

#include <string>

namespace colock::cli {

// A line on the standard output for each leader, until a signal. Gives the exit status; throws failure.
int follow_leaders(const server_options& servers, const std::string& path, bool as_json);

} // namespace colock::cli
