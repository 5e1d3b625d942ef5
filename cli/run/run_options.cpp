#include "run/run_options.hpp"

#include <colock/log.hpp>

#include "connect/duration.hpp"
#include "connect/path_argument.hpp"
#include "program/failure.hpp"
#include "program/program.hpp"
#include "program/text.hpp"
#include "run/events.hpp"
#include "run/outer_locks.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>

namespace colock::cli {

namespace {

using namespace std::chrono_literals;

// The grace, and what SIGKILL needs to take effect.
constexpr std::chrono::milliseconds margin_behind_grace = 500ms;

constexpr int most_paths = 64; // of one command
// Of all paths: they are one variable of the command, and a message to the guardian has room for little more.
constexpr std::size_t most_bytes_of_paths = std::size_t{32} * 1024;

// The library counts milliseconds in 31 bits here.
constexpr std::chrono::milliseconds longest_time = std::chrono::days{24};

std::string without_control_characters(std::string text)
{
    std::ranges::replace_if(
        text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    return text;
}

// As default_owner_data() has it, with what runs in place of "colock". A command that runs under another `colock run` also
// says under which node: `colock why` finds who waits for whom by that.
std::string owner_of(const run_options& options, const std::vector<std::string>& words)
{
    const auto& own = default_owner_data();
    const auto program_at = own.rfind(" program=");
    auto name = options.name;
    if (name.empty()) {
        name = options.shell ? "sh" : words.front().substr(words.front().rfind('/') + 1);
    }
    const auto outer = outer_nodes();
    return own.substr(0, program_at) + (outer.empty() ? "" : " under=" + outer.back()) +
           " program=" + without_control_characters(name);
}

access_control_list acl_of(const std::string& name, const client_options& who)
{
    if (name == "creator" && !shows_identity(who)) {
        throw failure{usage, "--acl creator needs an identity: give --auth, --sasl or --tls-cert"};
    }
    if (name == "open" || name == "parent") { // which gives each node a list of its own
        return open_acl();
    }
    if (name == "creator") {
        return creator_acl();
    }
    throw failure{usage, "--acl is open, creator or parent, not \"" + name + '"'};
}

} // namespace

void add_run_options(CLI::App& to, run_options& o, bool several)
{
    if (several) {
        add_path(to, o.paths,
                 "the path of the lock, such as /locks/backup; with several, all these locks, or "
                 "none")
            ->required()
            ->expected(1, most_paths);
    } else {
        to.add_option_function<std::string>(
              "PATH", [&o](const std::string& path) { o.paths = {path}; },
              "the path of the election, such as /elections/scheduler")
            ->transform(without_slashes_at_end)
            ->required();
    }
    to.add_flag("--try,-n", o.try_only, "do not wait: fail when somebody has the lock");
    add_duration(to, "--timeout,-w", o.timeout,
                 "wait for the lock for this time at most, and 0 as --try; without it, as long as "
                 "it takes. To reach a server takes this time at most, too, but 2 s at least, "
                 "unless there is --connect-timeout");
    add_duration(to, "--grace", o.grace,
                 "from SIGTERM to SIGKILL when the lock may soon be lost, colock is killed, or the "
                 "command leaves processes behind; the SIGTERM of `colock revoke`, and signals "
                 "that colock gets, are passed on alone, and the command may take its time")
        ->default_str("3s");
    add_duration(to, "--safety-margin", o.safety_margin,
                 "the command gets SIGTERM this long before another client can have the lock "
                 "(--grace and half a second)");
    add_duration(
        to, "--release-timeout", o.release_timeout,
        "when the command has ended, wait for silent servers so long at most (with --once-per, "
        "once the lock is lost); without them the lock is free when the session ends")
        ->default_str("3s");
    to.add_option("--retry", o.retries,
                  "so often, connect again when no server could be reached, and wait for the lock "
                  "and start the command again when the lock was lost")
        ->type_name("TIMES")
        ->check(CLI::Range(0, 1'000'000'000))
        ->default_str("0");
    to.add_option("--name", o.name, "what others see in place of the command's name")
        ->type_name("TEXT");
    to.add_option("--acl", o.acl,
                  "of the lock's nodes: open; or creator: nobody without our identity may touch "
                  "them; or parent: those who may use the node above, such as a root that "
                  "`colock root` has made")
        ->envname("COLOCK_ACL")
        ->type_name("open|creator|parent")
        ->capture_default_str();
    to.add_flag("--shell,-c", o.shell, "COMMAND is a line for `sh -c`");
    to.add_option("-E", o.busy_status, "the exit status when the lock was not granted in time")
        ->type_name("STATUS")
        ->check(CLI::Range(0, 255));
    to.add_flag(
        "--verbose,-v", o.report.verbose,
        "also tell of the session, a missing session guard, servers that do not answer, the "
        "grant, the release, how the command has ended, and a server that is `colock "
        "serve`");
    to.add_flag("--quiet,-q", o.report.quiet, "say nothing unless something is wrong");
    to.add_option("--events", o.events,
                  "tell machines what happens, a JSON object a line, in this file, or in the open "
                  "one with this number, as in --events 3 3>events")
        ->type_name("FILE");
    to.add_flag("--json", o.report.json, "the same, on the standard error in the place of words");
    to.add_option("--metrics", o.report.metrics,
                  "add what happens to the metrics in this file, for the textfile collector of "
                  "Prometheus' node exporter; its name ends in .prom. Many runs may share it")
        ->type_name("FILE");
    to.add_flag(
        "--keep-identity", o.keep_identity,
        "the command inherits COLOCK_AUTH and COLOCK_TLS_KEY_PASSWORD: for a colock inside it");
    to.add_flag("--notify", o.notify,
                "tell systemd, or another manager of services: ready when the lock is held, and "
                "what happens; and that colock works, where there is a watchdog");
    to.add_option(
          "--leave", o.leave,
          "do not end a daemon that the command starts, which has this name, or the number in this "
          "file, if there is a / in it; not even when the lock is lost. May be given several times")
        ->type_name("NAME")
        ->allow_extra_args(false);
    add_server_options(to, o.servers);
}

run_basis basis_of(const run_options& o, const std::string& name, const program& p)
{
    const auto no_path = [](const std::string& text) { return !text.starts_with('/'); };
    if (const auto word = std::ranges::find_if(o.paths, no_path);
        p.words().empty() && word != o.paths.begin() && word != o.paths.end()) {
        throw failure{usage,
                      "put -- before the command \"" + *word + "\": " + name + ' ' +
                          std::string{p.find(name.substr(name.find(' ') + 1)).text.synopsis}};
    }
    if (p.words().empty()) {
        throw failure{usage, "there is no command; write it after --: " + name +
                                 " /locks/backup -- ./backup.sh"};
    }
    if (std::ranges::find(o.paths, "/") != o.paths.end()) {
        throw failure{usage, "the path of the lock is /, below which is everything; a variable in "
                             "it may be empty: give it a name, such as /locks/backup"};
    }
    for (const auto& path : o.paths) { // before a connection takes its time
        constexpr std::size_t longest = 4096, shown_of_it = 240;
        if (no_path(path) || path.size() > longest) {
            throw failure{usage, "the path " + printable(path, shown_of_it) +
                                     (no_path(path) ? " does not begin with '/'"
                                                    : " is longer than 4096 bytes")};
        }
    }
    const auto margin = o.safety_margin.value_or(o.grace + margin_behind_grace);
    if (margin < o.grace + ending_terms::for_sigkill) {
        throw failure{usage, "--safety-margin is " + shown(margin) + " and --grace " +
                                 shown(o.grace) +
                                 ": the command could run on while another client "
                                 "has the lock; the margin has to be at least " +
                                 shown(o.grace + ending_terms::for_sigkill)};
    }
    if (margin > longest_time) {
        throw failure{usage, "--safety-margin, or --grace and half a second, is " + shown(margin) +
                                 ", which is too long; no session lasts for it"};
    }
    if (o.release_timeout == 0ms) {
        throw failure{usage, "--release-timeout is 0, which is too short to release anything"};
    }
    run_basis b;
    b.program = name;
    b.words = p.words();
    b.shell = o.shell;
    b.release_limit = o.release_timeout;
    b.keep_identity = o.keep_identity;
    b.shown = p.shown();
    b.servers =
        to_client_options(o.servers, [&b](const std::string& text) { b.warnings.push_back(text); });
    b.servers.acl = acl_of(o.acl, b.servers);
    b.servers.close_timeout = o.release_timeout;
    b.terms = {o.grace, margin};
    if (o.notify) {
        b.manager = service_manager::take();
    }
    b.report = o.report;
    return b;
}

supervision supervision_of(const run_options& o, const std::string& name, lock_kind kind,
                           const program& p)
{
    if (o.try_only && o.timeout) {
        throw failure{usage, "--try does not wait, and --timeout does; give one"};
    }
    for (auto at = o.paths.begin(); at != o.paths.end(); ++at) {
        if (std::find(std::next(at), o.paths.end(), *at) != o.paths.end()) {
            throw failure{usage, "the path " + printable(*at) +
                                     " is given twice; the command would wait for itself"};
        }
    }
    if (o.paths.size() > 1 && joined(o.paths, "\t").size() > most_bytes_of_paths) {
        throw failure{usage, "the paths are too long together; give fewer or shorter ones: 32 KiB "
                             "at most, as the command finds them in its environment"};
    }
    supervision s{basis_of(o, name, p)};
    if (o.timeout && *o.timeout > 0ms && !o.servers.connect_timeout) {
        s.servers.connect_timeout =
            std::clamp<std::chrono::milliseconds>(*o.timeout, 2s, longest_time);
    }
    s.lock = {o.paths.front(),
              kind,
              std::chrono::duration_cast<std::chrono::milliseconds>(s.terms.margin),
              owner_of(o, s.words),
              {std::next(o.paths.begin()), o.paths.end()}};
    s.list_of_parent = o.acl == "parent";
    s.limit = o.try_only ? 0ms : o.timeout;
    s.retries = o.retries.value_or(0);
    s.busy_status = o.busy_status;
    s.report.leave = daemons{o.leave};
    return s;
}

int supervise_what(const std::function<int()>& run, run_options& options, const std::string& name)
{
    if (!options.events.empty()) {
        options.report.events = open_events(options.events);
    }
    try {
        if (options.report.json && options.report.events >= 0) {
            throw failure{usage, "--json and --events tell the same; give one"};
        }
        if (options.report.quiet && options.report.verbose) {
            throw failure{usage, "--quiet and --verbose contradict each other; give one"};
        }
        if (const auto& file = options.report.metrics; !file.empty() && !file.ends_with(".prom")) {
            throw failure{usage, "--metrics is " + printable(file) +
                                     ", which the collector does not read; give a file of its own "
                                     "whose name ends in .prom"};
        }
        return run();
    } catch (...) {
        const auto f = failure_of(std::current_exception());
        auto report = options.report;
        if (f.status() != not_found && f.status() != not_executable) {
            report.metrics.clear(); // a wrong command line is not counted
        }
        if (!report.json && report.events < 0 && report.metrics.empty()) {
            throw;
        }
        events say{name, joined(options.paths, " "), report};
        say.ended(f.status(), f.reason(), f.what());
        say.finish();
        return f.status();
    }
}

} // namespace colock::cli
