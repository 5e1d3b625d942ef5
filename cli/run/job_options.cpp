#include "run/job_options.hpp"

#include "connect/duration.hpp"
#include "program/failure.hpp"

#include <CLI/CLI.hpp>
#include <stdexcept>
#include <string>
#include <variant>

namespace colock::cli {

using namespace std::chrono_literals;

void add_job_options(CLI::App& to, job_options& o)
{
    to.add_option_function<std::string>(
          "--once-per",
          [&o](const std::string& text) {
              try {
                  o.terms.once_per.emplace(text);
              } catch (const std::invalid_argument& e) {
                  throw CLI::ValidationError{"--once-per", e.what()};
              }
          },
          "run once in each period, whichever machine comes first: 1h, 1h@30m (at half past), "
          "daily@03:00 in the machine's time zone, or daily@03:00Europe/Berlin. Others than daily "
          "count from 1970, in UTC: 1w begins on Thursdays. A run counts for the moment that is "
          "nearest by the servers' clock; with an @ that is at most a quarter of the period ahead. "
          "Status 0 when the job has run")
        ->type_name("PERIOD");
    to.add_option("--again-on-failure", o.terms.again_on_failure,
                  "with --once-per: so often, run again in the period after the command has failed")
        ->type_name("TIMES")
        ->check(CLI::Range(0, 1'000'000));
    to.add_flag("--again-after-crash", o.terms.again_after_crash,
                "a run whose end nobody has written down is a failure for --again-on-failure");
    add_duration(to, "--hold-at-least", o.terms.hold_at_least,
                 "for so long from the start of the command, no other run with this option or "
                 "--once-per begins at this path, also when the command has ended, or colock has");
    add_duration(to, "--max-hold", o.max_hold,
                 "the command gets SIGTERM when it has run for so long, and SIGKILL after --grace; "
                 "status 124 (-E does not change it)");
}

void refuse_job_options(const job_options& o, const char* why)
{
    if (o.terms.need_record() || o.terms.again_on_failure != 0 || o.terms.again_after_crash) {
        throw failure{usage, std::string{"--once-per and --hold-at-least are for a mutex, and for "
                                         "--exclusive; leave them out, or leave out "} +
                                 why};
    }
}

void add_job(supervision& to, const job_options& o)
{
    const auto& kind = to.lock.kind;
    if (std::holds_alternative<as_reader>(kind)) {
        refuse_job_options(o, "--shared");
    } else if (std::holds_alternative<as_permits>(kind)) {
        refuse_job_options(o, "--permits");
    }
    if (!to.lock.more.empty()) {
        refuse_job_options(o, "all paths but one");
    }
    if (!o.terms.once_per && (o.terms.again_on_failure != 0 || o.terms.again_after_crash)) {
        throw failure{usage, "--again-on-failure and --again-after-crash are about the runs of one "
                             "period; say with --once-per how long that is"};
    }
    if (o.terms.again_after_crash && o.terms.again_on_failure == 0) {
        throw failure{usage,
                      "--again-after-crash makes a crash a failure; say with --again-on-failure "
                      "how many are followed by another run"};
    }
    if (o.max_hold && *o.max_hold == 0ms) {
        throw failure{usage, "--max-hold is 0, which is too short for any command"};
    }
    to.job = o.terms;
    to.report.tells_wait = !o.terms.need_record(); // it is a part of the plan of such a job
    to.max_hold = o.max_hold;
}

} // namespace colock::cli
