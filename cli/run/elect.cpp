// `colock elect`: a command while this process leads.
#include "program/failure.hpp"
#include "program/program.hpp"
#include "run/follow.hpp"
#include "run/run_options.hpp"
#include "run/supervisor.hpp"

#include <memory>

namespace colock::cli {

namespace {

void refuse_beside_follow(const CLI::App& given, bool has_command)
{
    CLI::App of_servers;
    server_options unused;
    add_server_options(of_servers, unused);
    for (const auto* const each : given.get_options()) {
        const auto name = each->get_name();
        if (each->count() != 0 && name != "PATH" && name != "--follow" && name != "--json" &&
            name != "--acl" && of_servers.get_option_no_throw(name) == nullptr) {
            throw failure{usage, name + " is for a command, and --follow has none; leave it out"};
        }
    }
    if (has_command) {
        throw failure{usage,
                      "--follow tells who leads, and runs no command; leave one of them out"};
    }
}

} // namespace

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
                      {"colock elect --follow /election/scheduler",
                       "who leads now, and from now on, a line for each leader"},
                      {"colock elect --retry 1000000 /election/scheduler -- ./scheduler",
                       "stand again after each loss of the leadership"}}});
    const auto o = std::make_shared<run_options>();
    const auto follows = std::make_shared<bool>(false);
    c.options->add_flag("--follow", *follows,
                        "without a command: print who leads, a line each time that changes, until\n"
                        "interrupted; with --json, an object a line");
    add_run_options(*c.options, *o);
    c.run = [&p, o, follows, options = c.options] {
        const std::string name = "colock elect";
        if (*follows) {
            refuse_beside_follow(*options, p.has_words());
            return follow_leaders(o->servers, o->path, o->json);
        }
        return supervise_what(
            [&] { return supervise(supervision_of(*o, name, as_candidate{}, p)); }, *o, name);
    };
}

} // namespace colock::cli
