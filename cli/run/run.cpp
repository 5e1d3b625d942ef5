#include "program/program.hpp"

namespace colock::cli {
void add_run(program& p)
{
    auto& c = p.add({.name = "run",
                     .synopsis = "[options] PATH -- COMMAND [ARGUMENT...]",
                     .summary = "Run a command while holding a lock",
                     .description = "",
                     .examples = {}});
    c.run = [] { return 0; };
}
} // namespace colock::cli
