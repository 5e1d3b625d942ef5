#include "run/run_options.hpp"

#include "connect/duration.hpp"
#include "program/failure.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdlib>

namespace colock::cli {

namespace {

using namespace std::chrono_literals;

// The grace, and what SIGKILL needs to take effect.
constexpr std::chrono::milliseconds margin_behind_grace = 500ms;

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
    const char* const outer = std::getenv("COLOCK_NODE");
    return own.substr(0, program_at) +
           (outer && *outer == '/' ? " under=" + without_control_characters(outer) : "") +
           " program=" + without_control_characters(name);
}

access_control_list acl_of(const std::string& name, const client_options& who)
{
    if (name == "creator" && who.credentials.empty() && !who.tls) {
        throw failure{usage, "--acl creator needs an identity: give --auth, or --tls-cert"};
    }
    if (name == "open") {
        return open_acl();
    }
    if (name == "creator") {
        return creator_acl();
    }
    throw failure{usage, "--acl is open or creator, not \"" + name + '"'};
}

} // namespace

void add_run_options(CLI::App& to, run_options& o)
{
    to.add_option("PATH", o.path, "the path of the lock, such as /locks/backup")->required();
    add_duration(to, "--timeout,-w", o.timeout,
                 "give up after this time, without a connection or without the lock;\n"
                 "without it, give up after 10 s without a connection, and wait for the lock");
    add_duration(to, "--grace", o.grace, "from SIGTERM to SIGKILL when the command is ended")
        ->default_str("3s");
    add_duration(to, "--safety-margin", o.safety_margin,
                 "the command is told to stop this long before another client can have the lock\n"
                 "(--grace and half a second)");
    to.add_option("--retry", o.retries, "start the command again, so often, when the lock was lost")
        ->type_name("TIMES")
        ->capture_default_str();
    to.add_option("--name", o.name, "what others see in place of the command's name")
        ->type_name("TEXT");
    to.add_option("--acl", o.acl,
                  "of the lock's nodes: open, or creator: nobody without our identity may touch "
                  "them")
        ->envname("COLOCK_ACL")
        ->type_name("open|creator")
        ->capture_default_str();
    to.add_flag("--shell,-c", o.shell, "COMMAND is a line for `sh -c`");
    to.add_option("-E", o.busy_status, "the exit status when the lock was not granted in time")
        ->type_name("STATUS")
        ->check(CLI::Range(0, 255));
    to.add_flag("--json", o.json, "tell machines what happens, on the standard error, a line each");
    add_server_options(to, o.servers);
}

supervision supervision_of(const run_options& o, std::string program, lock_kind kind,
                           const std::vector<std::string>& words)
{
    if (words.empty()) {
        throw failure{usage, "there is no command; write it behind --: " + program +
                                 " /locks/backup -- ./backup.sh"};
    }
    const auto margin = o.safety_margin.value_or(o.grace + margin_behind_grace);
    if (margin < o.grace + ending_terms::for_sigkill) {
        throw failure{usage, "--safety-margin is " + shown(margin) + " and --grace " +
                                 shown(o.grace) +
                                 ": the command could run on while another client "
                                 "has the lock; the margin has to be at least " +
                                 shown(o.grace + ending_terms::for_sigkill)};
    }
    supervision s;
    s.program = std::move(program);
    s.servers = to_client_options(o.servers);
    s.servers.acl = acl_of(o.acl, s.servers);
    if (o.timeout) {
        s.servers.connect_timeout = std::max(1ms, *o.timeout);
    }
    s.lock = {o.path, kind, margin, owner_of(o, words)};
    s.words = words;
    s.shell = o.shell;
    s.limit = o.timeout;
    s.terms = {o.grace, margin};
    s.retries = o.retries;
    s.busy_status = o.busy_status;
    s.json = o.json;
    return s;
}

} // namespace colock::cli
