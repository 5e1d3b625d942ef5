// `colock break`: takes a lock away from its holder.
#include <colock/diagnostics.hpp>
#include <colock/log.hpp>

#include "connect/awaiting.hpp"
#include "connect/path_argument.hpp"
#include "connect/patience.hpp"
#include "connect/run_client.hpp"
#include "look/culprit.hpp"
#include "look/look_at.hpp"
#include "look/screen.hpp"
#include "look/words.hpp"
#include "names/job_record.hpp"
#include "program/exit_status.hpp"
#include "program/failure.hpp"
#include "program/program.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace colock::cli {

namespace {

namespace asio = boost::asio;

struct break_options {
    server_options servers;
    std::string path;
    std::string node;
    std::string admin_port = "8080";
    bool all = false;
    bool yes = false;
};

std::vector<queue_entry> chosen(const seen_lock& seen, const break_options& o)
{
    const auto path = printable(o.path);
    if (!o.node.empty()) {
        const auto* const at = find_entry(seen, o.node);
        if (!at) {
            throw failure{not_found_here, printable(o.node) + " is no contender of " + path +
                                              "; `colock ls -l " + path + "` shows them"};
        }
        return {*at};
    }
    if (!seen.others.empty()) {
        throw failure{usage, several_words(seen)};
    }
    const auto holders = seen.queue.holders();
    if (holders.empty()) {
        throw failure{not_found_here, "nobody holds " + path + "; there is nothing to break"};
    }
    if (holders.size() > 1 && !o.all) {
        throw failure{usage, std::to_string(holders.size()) + " hold " + path +
                                 "; say --all, or --node with one of those that `colock ls -l` "
                                 "shows"};
    }
    return {holders.begin(), holders.end()};
}

void require_lock(const seen_lock& seen)
{
    const auto path = printable(seen.path);
    if (!seen.exists) {
        throw failure{not_found_here, path + " does not exist"};
    }
    if (seen.unlisted) {
        throw failure{refused, "this client lacks READ on " + printable(seen.unlisted_path) +
                                   "; use --auth with an identity that may"};
    }
    if (seen.may_be_free_lock()) { // its directory is still there
        throw failure{not_found_here, "nobody holds " + path + "; there is nothing to break"};
    }
    if (!seen.is_lock()) {
        throw failure{refused, path + " is no lock, so nothing is deleted there"};
    }
}

std::string_view life_of(health h)
{
    switch (h) {
    case health::alive: return "its session is alive";
    case health::silent: return "its session is there, but silent";
    case health::stopped: return "it is stopped";
    case health::dead: return "it seems dead";
    case health::by_hand: return "it has no session";
    case health::unreadable:
    case health::unknown: break;
    }
    return "whether it lives cannot be known";
}

std::string warning(const std::vector<queue_entry>& targets, const session_facts& facts)
{
    std::string text;
    for (const auto& e : targets) {
        const auto known = examine(e, facts);
        text += (e.holds ? "holder " : "waiter ") + who(e);
        if (!e.unreadable) {
            text += ", " + standing_words(e) + ", token " + token_words(e) + "...";
        }
        text += "\n  node " + printable(e.path) + "\n  " + std::string{life_of(known.state)} +
                (known.words.empty() ? "" : ": " + known.words) + '\n';
    }
    for (const auto& note : facts.notes) {
        text += "note: " + printable(note) + '\n';
    }
    if (std::ranges::none_of(targets, &queue_entry::holds)) {
        return text + "It loses its place in the queue. Its client may come again, at the end.\n";
    }
    return text +
           "The next holder gets the lock at once, with a greater fencing token. The old one may "
           "go "
           "on until it\nnotices: stores that check tokens refuse it, others do not. `colock run` "
           "kills its command at once.\n";
}

// True when the user says so. The client goes on meanwhile.
asio::awaitable<bool> confirmed()
{
    std::cerr << "Break it? [y/N] " << std::flush;
    const auto executor = co_await asio::this_coro::executor;
    auto input = open_terminal(executor);
    if (!input.is_open()) {
        co_return false;
    }
    std::string line;
    constexpr std::size_t longest = 1024;
    auto into = asio::dynamic_buffer(line, longest);
    const auto [ec, n] = co_await asio::async_read_until(input, into, '\n', no_throw);
    if (ec == asio::error::operation_aborted) {
        throw boost::system::system_error{ec};
    }
    co_return !ec && (line == "y\n" || line == "yes\n" || line == "Y\n");
}

// Servers before 3.8.4 and 3.9.2 let nobody hide that a node exists, since when, and whose it is.
asio::awaitable<void> complete(client& zk, queue_entry& e)
{
    if (!e.unreadable) {
        co_return;
    }
    const auto [ec, found] = co_await zk.async_exists(e.path, no_throw);
    if (!ec && found) {
        e.czxid = found->czxid;
        e.session = found->ephemeral_owner;
    }
}

enum class outcome { broken, gone, another };

// Of a write to the node, with the version that was seen before.
outcome outcome_of(const error_code& ec, const diagnostics& why)
{
    if (ec == zookeeper_errc::no_node) {
        return outcome::gone;
    }
    if (ec == zookeeper_errc::bad_version) {
        return outcome::another;
    }
    if (ec) {
        throw failure_of(ec, why.message());
    }
    return outcome::broken;
}

// The path of a single node is that of the next holder, too, whose node begins with version 0. Writing the same data again
// tells whose node it is, and gives it a version that a successor's has not.
asio::awaitable<outcome> mark(client& zk, const queue_entry& e, std::int32_t& version)
{
    diagnostics why;
    const auto [ec, stat] =
        co_await zk.async_set(e.path, e.data, version, bind_diagnostics(why, no_throw));
    const auto written = outcome_of(ec, why);
    if (written != outcome::broken) {
        co_return written;
    }
    version = stat.version;
    co_return stat.czxid == e.czxid ? outcome::broken : outcome::another;
}

// Deletes the node that was shown, and no other one that has come in its place.
asio::awaitable<outcome> remove(client& zk, const queue_entry& e, seen_kind what)
{
    diagnostics why;
    const auto [exists_ec, found] = co_await zk.async_exists(e.path, no_throw);
    if (exists_ec == zookeeper_errc::no_auth && what != &kinds::single_node_mutex) {
        // To delete it takes no right to read it, and no successor has its name.
        const auto [ec] =
            co_await zk.async_remove(e.path, any_version, bind_diagnostics(why, no_throw));
        co_return outcome_of(ec, why);
    }
    if (exists_ec) {
        throw failure_of(exists_ec);
    }
    if (!found) {
        co_return outcome::gone;
    }
    if (found->czxid != e.czxid) {
        co_return outcome::another;
    }
    auto version = found->version;
    if (what == &kinds::single_node_mutex) {
        const auto marked = co_await mark(zk, e, version);
        if (marked != outcome::broken) {
            co_return marked;
        }
    }
    const auto [ec] = co_await zk.async_remove(e.path, version, bind_diagnostics(why, no_throw));
    co_return outcome_of(ec, why);
}

asio::awaitable<session_facts> sessions_of(client& zk, const client_options& options,
                                           const break_options& o,
                                           const std::vector<queue_entry>& targets)
{
    std::set<std::int64_t> sessions;
    for (const auto& e : targets) {
        sessions.insert(e.session);
    }
    session_questions how;
    how.options = options;
    how.admin_port = o.admin_port == "0" ? "" : o.admin_port;
    co_return co_await ask_sessions(zk, how, sessions);
}

// A waiter may have got the lock while the question stood, which was about its place in the queue.
asio::awaitable<void> refuse_granted(client& zk, const break_options& o,
                                     const std::vector<queue_entry>& targets)
{
    if (std::ranges::all_of(targets, &queue_entry::holds)) {
        co_return;
    }
    co_await catch_up(zk, o.path);
    const auto now = co_await look_at_queue_of(zk, o.path, o.node);
    for (const auto& e : targets) {
        const auto* const at = find_entry(now, e.path);
        if (!e.holds && at && at->holds) {
            throw failure{refused, "nothing was deleted: meanwhile " + who(e) + " holds " +
                                       printable(o.path) + "; look again"};
        }
    }
}

asio::awaitable<void> tell_next(client& zk, const break_options& o)
{
    const auto now = co_await look_at(zk, o.path);
    if (!now.others.empty()) {
        co_return; // whose queue that was cannot be seen any more
    }
    const auto holders = now.queue.holders();
    std::cout << (holders.empty() ? "nobody holds " + printable(o.path) + " now"
                                  : "now first: " + who(holders.front()) + ", token " +
                                        token_words(holders.front()) + "...")
              << '\n'
              << std::flush;
}

// True when the user says so, by --yes or now.
asio::awaitable<bool> is_agreed(const break_options& o)
{
    if (o.yes) {
        co_return true;
    }
    if (!::isatty(STDIN_FILENO) || !::isatty(STDERR_FILENO)) {
        throw failure{usage, "nothing was deleted; say --yes where no terminal can ask you"};
    }
    const bool sure = co_await confirmed();
    if (!sure) {
        std::cerr << "nothing was deleted\n";
    }
    co_return sure;
}

asio::awaitable<get_result> record_at(client& zk, const break_options& o)
{
    diagnostics why;
    auto [ec, found] = co_await zk.async_get(o.path, bind_diagnostics(why, no_throw));
    if (ec) {
        throw failure_of(ec, why.message());
    }
    if (!is_job_record(found.data)) {
        throw failure{refused, "nothing was deleted: " + printable(o.path) + " has just changed"};
    }
    co_return std::move(found);
}

// The record of a job's runs: that of a later run stays.
asio::awaitable<int> forget_runs(client& zk, const break_options& o)
{
    diagnostics why;
    const auto found = co_await record_at(zk, o);
    const auto path = printable(o.path);
    std::cerr << "record of a job's runs: " << printable(found.data)
              << "\nWithout it the job may run again at once.\n"
              << std::flush;
    const bool sure = co_await is_agreed(o);
    if (!sure) {
        co_return not_found_here;
    }
    const auto now = co_await record_at(zk, o);
    if (now.stat.czxid != found.stat.czxid) { // versions begin anew with a node
        throw failure{refused, "nothing was deleted: meanwhile another run has made " + path +
                                   " anew; look again"};
    }
    const auto [ec] =
        co_await zk.async_remove(o.path, found.stat.version, bind_diagnostics(why, no_throw));
    const auto came = outcome_of(ec, why);
    if (came == outcome::another) {
        throw failure{refused, "nothing was deleted: meanwhile another run has changed " + path +
                                   "; look again"};
    }
    std::cout << (came == outcome::broken ? "deleted " : "deleted already: ") << path << '\n'
              << std::flush;
    co_return success;
}

asio::awaitable<int> take_away(client& zk, const client_options& options, const break_options& o)
{
    co_await catch_up(zk, o.path);
    const auto seen = co_await look_at_queue_of(zk, o.path, o.node);
    const bool is_record =
        seen.exists && !seen.is_lock() && o.node.empty() && is_job_record(seen.data);
    if (is_record) {
        const auto status = co_await forget_runs(zk, o);
        co_return status;
    }
    require_lock(seen);
    auto targets = chosen(seen, o);
    for (auto& e : targets) {
        co_await complete(zk, e);
    }
    const auto facts = co_await sessions_of(zk, options, o, targets);
    std::cerr << warning(targets, facts) << std::flush;
    const bool sure = co_await is_agreed(o);
    if (!sure) {
        co_return not_found_here;
    }
    co_await refuse_granted(zk, o, targets);
    int status = success;
    for (const auto& e : targets) {
        const auto came = co_await remove(zk, e, seen.what);
        std::cout << (came == outcome::broken ? "broke "
                      : came == outcome::gone ? "had released it already: "
                                              : "left alone, for another has come: ")
                  << who(e) << ", " << printable(e.path) << '\n';
        status = came == outcome::another ? static_cast<int>(refused) : status;
    }
    co_await tell_next(zk, o);
    co_return status;
}

} // namespace

void add_break(program& p)
{
    auto& c = p.add(
        {.name = "break",
         .synopsis = "[options] PATH",
         .summary = "take a lock away from its holder",
         .description =
             "Deletes the node of the holder, after it has shown who that is, whether it lives, "
             "and what will come of it, and after you have agreed. The next holder gets the lock "
             "at once, with a greater fencing token. The old one may go on until it notices: "
             "stores that check tokens are safe from it, others are not. `colock run` kills its "
             "command at once. `colock revoke` asks instead.\n\n"
             "Only the node that was shown is deleted, never that of a successor.\n\n"
             "Of a job with `--once-per` it deletes the record PATH.runs, so that the job may run "
             "again in its period.",
         .examples = {{"colock break /locks/backup", "show the holder, ask, and delete its node"},
                      {"colock break --yes /locks/backup", "the same in a script"},
                      {"colock break --all /locks/reports", "all that share the lock"},
                      {"colock break --node _c_4ae1...-lock-0000000041 /locks/backup",
                       "one contender, which may also be a waiter"},
                      {"colock break --yes /locks/nightly.runs",
                       "forget the last run of a job, before it is run once more"}},
         .statuses = {{"1", "Nobody holds the lock, or you said no."},
                      {"122", "Refused: the path is no lock, a permission is missing, or another "
                              "holder has come meanwhile."},
                      {"125", "There is neither a terminal nor --yes; bad usage, an unreadable "
                              "file, or a fault of colock."}}});
    const auto o = std::make_shared<break_options>();
    add_path(*c.options, o->path, "the path of a lock")->required();
    auto* const node =
        c.options->add_option("--node", o->node, "this contender: its name, or its path")
            ->type_name("NODE");
    c.options->add_flag("--all", o->all, "all holders, where several share the lock")
        ->excludes(node);
    c.options->add_flag("-y,--yes", o->yes, "do not ask");
    add_admin_port(*c.options, o->admin_port);
    add_server_options(*c.options, o->servers);
    c.run = [o] {
        const auto options = to_client_options(o->servers);
        return run_client(options, [&](client& zk) {
            return while_connected(zk, options, take_away(zk, options, *o));
        });
    };
}

} // namespace colock::cli
