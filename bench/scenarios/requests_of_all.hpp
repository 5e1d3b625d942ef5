// The requests of all systems, counted on their way to the server.
#pragma once

#include "report.hpp"
#include "run_options.hpp"

namespace bench {

// A part of the scenario requests.
void requests_of_all(const run_options& options, report& out);

} // namespace bench
