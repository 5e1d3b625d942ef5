// `colock elect`: a command while this process leads.
#include "program/program.hpp"
#include "run/run_options.hpp"
#include "run/supervisor.hpp"

#include <memory>

namespace colock::cli {

void add_elect(program& p)
{
    auto& c = p.add(
        {.name = "elect",
         .synopsis = "[options] PATH -- COMMAND [ARGUMENT...]",
         .summary = "run a command while leading an election",
         .description =
             "Stands for the election at PATH, runs the command while this process leads, and\n"
             "steps down when the command ends. As with `colock run`, the command and all its\n"
             "processes are gone before another candidate can lead. The election is that of\n"
             "LeaderLatch of Apache Curator.\n",
         .examples = {{"colock elect /election/scheduler -- ./scheduler",
                       "one scheduler among all machines; another one takes over when it ends"},
                      {"colock elect --retry 1000000 /election/scheduler -- ./scheduler",
                       "stand again after each loss of the leadership"}}});
    const auto o = std::make_shared<run_options>();
    add_run_options(*c.options, *o);
    c.run = [&p, o] {
        const std::string name = "colock elect";
        return supervise_what(
            [&] { return supervise(supervision_of(*o, name, as_candidate{}, p)); }, *o, name);
    };
}

} // namespace colock::cli
