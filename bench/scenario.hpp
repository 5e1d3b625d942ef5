// The scenarios; each adds its figures to the report.
#pragma once

#include "report.hpp"
#include "run_options.hpp"

namespace bench {

void uncontended(const run_options& options, report& out);
void handover(const run_options& options, report& out);
void requests(const run_options& options, report& out);
void costs(const run_options& options, report& out);
void memory(const run_options& options, report& out);
void idle(const run_options& options, report& out);
void in_process(const run_options& options, report& out);
void linger(const run_options& options, report& out);
void many_locks(const run_options& options, report& out);
void deep_queue(const run_options& options, report& out);
void readers(const run_options& options, report& out);
void herd(const run_options& options, report& out);
void failover(const run_options& options, report& out);
void overlap(const run_options& options, report& out);
void shards(const run_options& options, report& out);

} // namespace bench
