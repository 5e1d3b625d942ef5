// `colock run`: a command under a lock.
#include "program/failure.hpp"
#include "program/program.hpp"
#include "run/job_options.hpp"
#include "run/run_options.hpp"
#include "run/shard_options.hpp"
#include "run/supervisor.hpp"

#include <charconv>
#include <memory>

namespace colock::cli {

namespace {

struct kind_options {
    bool shared = false;
    bool exclusive = false;
    std::string permits;
};

// "N/M": N permits of M.
as_permits parse_permits(const std::string& text)
{
    as_permits p;
    const auto* const end = text.data() + text.size();
    const auto wanted = std::from_chars(text.data(), end, p.wanted);
    if (wanted.ec == std::errc{} && wanted.ptr != end && *wanted.ptr == '/') {
        const auto all = std::from_chars(wanted.ptr + 1, end, p.all);
        if (all.ec == std::errc{} && all.ptr == end && p.wanted > 0 && p.wanted <= p.all) {
            return p;
        }
    }
    throw failure{usage, "--permits is \"" + text +
                             "\"; write 2/5 for two permits of five, not more than there are"};
}

void refuse_beside_shards(const run_options& run, const kind_options& o)
{
    if (!run.report.metrics.empty()) {
        throw failure{usage, "--metrics is for one command, and --shards runs many; leave one of "
                             "them out"};
    }
    if (run.acl == "parent") {
        throw failure{usage, "--acl parent is for locks, and --shards makes other nodes, too; give "
                             "--acl creator"};
    }
    if (run.paths.size() > 1) {
        throw failure{usage, "--shards is for one path; leave the others out"};
    }
    if (run.try_only || o.shared || o.exclusive || !o.permits.empty()) {
        throw failure{usage,
                      "--try, --shared, --exclusive and --permits are for one lock, and each "
                      "shard is a lock of its own; leave them out, or leave --shards out"};
    }
}

lock_kind kind_of(const kind_options& o)
{
    if (o.shared + o.exclusive + !o.permits.empty() > 1) {
        throw failure{usage, "--shared, --exclusive and --permits are different locks; give one"};
    }
    if (o.shared) {
        return as_reader{};
    }
    if (o.exclusive) {
        return as_writer{};
    }
    if (!o.permits.empty()) {
        return parse_permits(o.permits);
    }
    return as_mutex{};
}

} // namespace

void add_run(program& p)
{
    auto& c = p.add(
        {.name = "run",
         .synopsis = "[options] PATH... -- COMMAND [ARGUMENT...]",
         .summary = "run a command while holding a lock",
         .description =
             "Waits for the lock at PATH, runs the command, releases the lock, and returns the "
             "status of the command. When the lock may be lost, the command and all processes that "
             "it has started get SIGTERM, and SIGKILL after the grace. They are gone before "
             "another client can have the lock, also when colock itself is stopped or killed: a "
             "guardian process sees to that. Processes that the command leaves behind are ended in "
             "the same way, before the lock is released.\n\n"
             "Of several PATHs all locks are taken together, or none, in one order whatever the "
             "order of the PATHs: colocks with overlapping PATHs do not wait for each other for "
             "ever. When one of them is lost or asked for, all are.\n\n"
             "The command finds in its environment COLOCK_PATH, COLOCK_NODE (the lock's node), "
             "COLOCK_TOKEN (the fencing token: give it to whatever it writes to), and "
             "COLOCK_SAFE_UNTIL (seconds since 1970; it moves on while there is a connection).\n\n"
             "With --shards, PATH is a set of shards instead, which all processes that run this "
             "share evenly: a command runs for each shard that this one owns, without a standard "
             "input, and ends as above when its shard moves or is lost. It also finds "
             "COLOCK_SHARD, its number, and COLOCK_SHARDS. SIGTERM, SIGINT, SIGQUIT and SIGHUP "
             "make colock hand its shards on and end; a second one, a second later or more, ends "
             "the commands at once. `colock shards` tells who owns what.",
         .examples =
             {{"colock run /locks/backup -- ./backup.sh", "one backup at a time, on all machines"},
              {"colock run --once-per daily@03:00 /locks/nightly -- ./nightly.sh",
               "from every machine's cron: one of them runs it, the others end with status 0"},
              {"colock run --timeout 5m --shell /locks/db -- 'pg_dump shop | gzip >dump.gz'",
               "a line for the shell, and at most five minutes of waiting"},
              {"colock run --shared /locks/index -- ./search.sh",
               "together with other readers, never beside `--exclusive`"},
              {"colock run --permits 1/4 /locks/api -- ./call.sh", "four at a time"},
              {"colock run /locks/orders /locks/stock -- ./move.sh", "both, or none"},
              {"colock run --shards 64 /shards/mail -- ./worker {}",
               "on every machine: 64 workers in all, spread evenly, each with its number"}},
         .statuses = {{"that of the command",
                       "The command ended by itself; with `--shards`, the first one that did, with "
                       "`--when-ended fail`."},
                      {"0", "With `--once-per`: the job has run. With `--shards`: colock was asked "
                            "to end by a signal, and has handed "
                            "its shards on, or ended their commands."},
                      {"124", "The time of `--timeout` has passed (`-E` changes it), or that of "
                              "`--max-hold`."},
                      {"128+N",
                       "Signal N ended the command, or colock while it waited; with `--shards`, N "
                       "was the second one."}}});
    const auto o = std::make_shared<run_options>();
    const auto k = std::make_shared<kind_options>();
    const auto shards = std::make_shared<shard_run_options>();
    const auto job = std::make_shared<job_options>();
    c.options->add_flag("--shared,-s", k->shared, "read: share the lock with others that read");
    c.options->add_flag("--exclusive,-x", k->exclusive,
                        "write: alone, where others use --shared; without either PATH is a mutex");
    c.options->add_option("--permits", k->permits, "N permits of M: a semaphore")->type_name("N/M");
    add_job_options(*c.options, *job);
    add_shard_options(*c.options, *shards);
    add_run_options(*c.options, *o, true);
    c.run = [&p, o, k, shards, job] {
        const std::string name = "colock run";
        const auto run = [&] {
            if (shards->count) {
                refuse_beside_shards(*o, *k);
                refuse_job_options(*job, "--shards");
                if (job->max_hold) {
                    throw failure{usage, "--max-hold is for one command, and --shards runs many "
                                         "without an end; leave one of them out"};
                }
                return supervise(supervision_of(*o, *shards, name, p));
            }
            refuse_without_shards(*shards);
            auto s = supervision_of(*o, name, kind_of(*k), p);
            if (!k->permits.empty() && !s.lock.more.empty()) {
                throw failure{usage, "--permits is for one path; leave the others out"};
            }
            add_job(s, *job);
            return supervise(s);
        };
        return supervise_what(run, *o, name);
    };
}

} // namespace colock::cli
