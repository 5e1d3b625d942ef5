// The peers' way to contend within one process.
#pragma once

#include "report.hpp"
#include "run_options.hpp"

namespace bench {

// A part of the scenario in_process.
void in_process_peers(const run_options& options, report& out);

} // namespace bench
