// `colock elect`: a command while this process leads.
#include <colock/log.hpp>

#include "connect/path_argument.hpp"
#include "program/failure.hpp"
#include "program/program.hpp"
#include "run/follow.hpp"
#include "run/run_options.hpp"
#include "run/supervisor.hpp"

#include <memory>
#include <string>

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

struct elect_options {
    std::string restart;
    std::string enabled_by;
};

restart restart_of(const std::string& word)
{
    if (word.empty()) {
        return restart::never;
    }
    if (word != "on-failure" && word != "always") {
        throw failure{usage, "--restart is on-failure or always, not \"" + printable(word) + '"'};
    }
    return word == "always" ? restart::always : restart::on_failure;
}

} // namespace

void add_elect(program& p)
{
    auto& c = p.add(
        {.name = "elect",
         .synopsis = "[options] PATH -- COMMAND [ARGUMENT...]",
         .summary = "run a command while leading an election",
         .description = "Stands for the election at PATH, runs the command while this process "
                        "leads, and steps down when the command ends. As with `colock run`, the "
                        "command and all its processes are gone before another candidate can lead. "
                        "The election is that of LeaderLatch of Apache Curator.",
         .examples = {{"colock elect /election/scheduler -- ./scheduler",
                       "one scheduler among all machines; another one takes over when it ends"},
                      {"colock elect --follow /election/scheduler",
                       "who leads now, and from now on, a line for each leader"},
                      {"colock elect --restart always /election/scheduler -- ./scheduler",
                       "stand again whenever the scheduler has ended or the leadership is lost"},
                      {"colock elect --enabled-by /switches/scheduler /election/scheduler -- "
                       "./scheduler",
                       "nobody runs it while the node says off, or is not there"}}});
    const auto o = std::make_shared<run_options>();
    const auto e = std::make_shared<elect_options>();
    c.options
        ->add_option(
            "--restart", e->restart,
            "stand again after the command has failed, or has ended in any way: after 1 s, "
            "twice as long each time, 1 min at most. Also after a loss, and when no "
            "server can be reached; as often as it takes, unless there is --retry")
        ->type_name("on-failure|always");
    c.options
        ->add_option("--enabled-by", e->enabled_by,
                     "a switch for all candidates: while there is no such node, or it says off, "
                     "false, no or 0, nobody stands; a command that runs gets SIGTERM, and SIGKILL "
                     "after --grace")
        ->transform(without_slashes_at_end)
        ->type_name("NODE");
    const auto follows = std::make_shared<bool>(false);
    c.options->add_flag("--follow", *follows,
                        "without a command: print who leads, a line each time that changes, until "
                        "interrupted; with --json, an object a line");
    add_run_options(*c.options, *o);
    c.run = [&p, o, e, follows, options = c.options] {
        const std::string name = "colock elect";
        if (*follows) {
            refuse_beside_follow(*options, p.has_words());
            return follow_leaders(o->servers, o->paths.front(), o->report.json);
        }
        const auto run = [&] {
            auto s = supervision_of(*o, name, as_candidate{}, p);
            s.candidate.enabled_by = e->enabled_by;
            s.candidate.again = restart_of(e->restart);
            if (s.candidate.again != restart::never && !o->retries) {
                s.retries = without_limit;
            }
            return supervise(s);
        };
        return supervise_what(run, *o, name);
    };
}

} // namespace colock::cli
