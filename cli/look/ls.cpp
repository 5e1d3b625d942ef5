// `colock ls`: which locks there are, who has them, how many wait.
#include <colock/group.hpp>
#include <colock/log.hpp>

#include "connect/awaiting.hpp"
#include "connect/duration.hpp"
#include "connect/four_letter_word.hpp"
#include "connect/path_argument.hpp"
#include "connect/patience.hpp"
#include "connect/run_client.hpp"
#include "look/look_at.hpp"
#include "look/words.hpp"
#include "names/job_record.hpp"
#include "program/exit_status.hpp"
#include "program/exposition.hpp"
#include "program/failure.hpp"
#include "program/program.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace colock::cli {

namespace {

namespace asio = boost::asio;
namespace json = boost::json;

struct ls_options {
    server_options servers;
    std::string path;
    bool recursive = false;
    bool whole = false;
    bool as_json = false;
    bool as_metrics = false;
};

// A semaphore has queues below it, which are parts of it.
bool has_parts(const seen_lock& seen)
{
    return seen.what == &kinds::semaphore ||
           std::ranges::any_of(seen.others, [](auto& k) { return k.what == &kinds::semaphore; });
}

// The locks below a path, in the order of their names.
class walk {
public:
    walk(client& zk, const ls_options& o) : zk_{zk}, options_{o} {}

    std::vector<seen_lock> found;
    std::vector<std::string> unlisted; // what an access control list hides, or no request can name
    std::string unreadable;            // the first that an access control list hides

    asio::awaitable<void> below(const seen_lock& parent, std::size_t levels)
    {
        auto names = parent.child_names;
        std::ranges::sort(names);
        for (const auto& name : names) {
            const bool is_part = has_parts(parent) && (name == "locks" || name == "leases");
            if (is_part || kind_of(name)) {
                continue;
            }
            const auto path = child_of(parent.path, name);
            constexpr std::size_t holders_only = 4;
            auto seen = co_await look_at_path_of_others(zk_, path,
                                                        options_.whole ? everything : holders_only);
            co_await confirm_group(zk_, seen, everything);
            note_unlisted(seen);
            auto here = seen; // below it, and then it
            if (seen.is_lock() || seen.is_gathering()) {
                found.push_back(std::move(seen));
            }
            if (levels > 1) {
                if (here.is_gathering()) {
                    leave_out_parts(here);
                }
                co_await below(here, levels - 1);
            }
        }
    }

    void note_unlisted(const seen_lock& seen)
    {
        if (seen.unlisted) {
            unlisted.push_back(seen.unlisted_path);
            if (unreadable.empty() && seen.unlisted != errc::invalid_path) {
                unreadable = seen.unlisted_path;
            }
        }
    }

    static constexpr auto everything = std::numeric_limits<std::size_t>::max();

private:
    client& zk_;
    const ls_options& options_;
};

std::string details(const queue_entry& e)
{
    if (e.unread || e.unreadable) {
        return who(e);
    }
    return who(e) + ", " + standing_words(e) + " (since " + time_words(e.since) + "), token " +
           token_words(e) + "...";
}

std::string unlisted_line(const seen_lock& seen)
{
    return seen.unlisted ? "    " + printable(seen.unlisted_path) +
                               " cannot be listed: " + in_own_words(seen.unlisted.message()) + '\n'
                         : "";
}

asio::awaitable<std::string> gathering_lines(client& zk, const seen_lock& seen, bool whole)
{
    auto text = printable(seen.path) + "  " + kind_words(seen) + "  " + gathering_words(seen) +
                '\n' + unlisted_line(seen);
    if (!whole || seen.unlisted) {
        co_return text;
    }
    const group them{zk, seen.shards ? child_of(seen.path, "members") : seen.path};
    const auto [ec, members] = co_await them.async_members(no_throw);
    if (ec == zookeeper_errc::no_auth || ec == errc::invalid_path) { // of one: no reason to stop
        co_return text + "    members cannot be read: " + in_own_words(ec.message()) + '\n';
    }
    if (ec) {
        throw boost::system::system_error{ec};
    }
    for (const auto& m : members) {
        constexpr std::size_t longest = 96;
        text += "    member " + printable(m.name, longest) + ", for " + age_words(m.since) +
                " (since " + time_words(m.since) + "), weight " + std::to_string(m.weight) +
                (m.data.empty() ? "" : ", \"" + printable(m.data, longest) + '"') + ", session " +
                session_words(m.session) + '\n';
    }
    co_return text;
}

std::string lines_of(const seen_lock& seen, bool whole)
{
    auto text = printable(seen.path) + "  " + kind_words(seen) + "  ";
    const auto holders = seen.queue.holders();
    if (seen.permits) {
        text += std::to_string(holders.size()) + " of " + std::to_string(*seen.permits) +
                " permits held  ";
    }
    text += std::to_string(seen.waiting()) + (seen.waiting() == 1 ? " waits" : " wait") + '\n';
    std::size_t unread = 0;
    for (const auto& e : seen.queue.entries) {
        if (e.unread) {
            ++unread;
        } else if (e.holds) {
            text += "    held by " + details(e) + '\n';
        } else if (whole) {
            text += "    waits:  " + details(e) + '\n';
        }
    }
    if (whole && unread != 0) {
        text += "    and " + std::to_string(unread) + " more\n";
    }
    for (const auto& k : seen.others) {
        text += "    beside it nodes of " + with_article(words_for(k.what)) + ", such as " +
                printable(k.example) + '\n';
    }
    return text + unlisted_line(seen);
}

constexpr std::array<metric_family, 8> ls_families{{
    {"colock_lock_holders", "gauge", "How many hold the lock."},
    {"colock_lock_waiters", "gauge", "How many wait for the lock."},
    {"colock_lock_permits", "gauge", "How many permits the semaphore has."},
    {"colock_lock_holder_since_timestamp_seconds", "gauge",
     "When the first holder joined the queue, by the clock of the servers."},
    {"colock_group_members", "gauge", "How many members the group or the shards have."},
    {"colock_group_shards", "gauge", "How many shards there are."},
    {"colock_unlisted_nodes", "gauge", "Nodes that could not be listed."},
    {"colock_ls_timestamp_seconds", "gauge", "When colock ls has looked."},
}};

double seconds_of(std::chrono::system_clock::time_point t)
{
    return std::chrono::duration<double>{t.time_since_epoch()}.count();
}

std::string metrics_of(const std::vector<seen_lock>& all, std::size_t unlisted)
{
    series_values values;
    for (const auto& seen : all) {
        if (seen.unlisted && !seen.shards) {
            continue; // its holders may be among what is hidden, so 0 would not be true
        }
        const auto number = [&](std::string_view name, std::size_t value) {
            const bool is_lock = !seen.is_gathering();
            values[is_lock ? series_of(name, {{"path", seen.path},
                                              {"kind", std::string{word_for(seen.what)}}})
                           : series_of(name, {{"path", seen.path}})] = static_cast<double>(value);
        };
        if (seen.is_gathering()) {
            if (!seen.unlisted) {
                number("colock_group_members", *seen.members);
            }
            if (seen.shards) {
                number("colock_group_shards", *seen.shards);
            }
            continue;
        }
        const auto holders = seen.queue.holders();
        number("colock_lock_holders", holders.size());
        number("colock_lock_waiters", seen.waiting());
        if (seen.permits && *seen.permits >= 0) {
            number("colock_lock_permits", static_cast<std::size_t>(*seen.permits));
        }
        if (!holders.empty() && !holders.front().unread && !holders.front().unreadable) {
            values[series_of("colock_lock_holder_since_timestamp_seconds",
                             {{"path", seen.path}, {"kind", std::string{word_for(seen.what)}}})] =
                seconds_of(holders.front().since);
        }
    }
    values["colock_unlisted_nodes"] = static_cast<double>(unlisted);
    values["colock_ls_timestamp_seconds"] =
        std::floor(seconds_of(std::chrono::system_clock::now()));
    return exposition_of(ls_families, values);
}

[[noreturn]] void refuse(const seen_lock& seen, bool recursive)
{
    const auto path = printable(seen.path);
    if (!seen.exists) {
        throw failure{not_found_here, path + " does not exist; nobody has used a lock there, or "
                                             "the path or the chroot of --servers is wrong"};
    }
    if (seen.unlisted) {
        throw failure{refused, path + " cannot be listed: this client lacks READ on " +
                                   printable(seen.unlisted_path) +
                                   "; use --auth with an identity that may"};
    }
    if (is_job_record(seen.data)) {
        throw failure{not_found_here,
                      path + " is no lock, but the record of a job: " + printable(seen.data)};
    }
    if (seen.child_names.empty()) {
        throw failure{not_found_here, path + " has no nodes below it: it is a free lock, or none"};
    }
    throw failure{not_found_here,
                  path + " is no lock, and there is none below it" +
                      (recursive ? " that anybody holds" : "; `colock ls -r` looks further down")};
}

asio::awaitable<int> list(client& zk, const ls_options& o)
{
    // With a name: GCC 12 destroys a temporary of a conditional twice in a statement with co_await.
    const std::string begin = o.path.empty() ? "/" : o.path;
    co_await catch_up(zk, begin);
    auto top = co_await look_at(zk, begin, walk::everything);
    co_await confirm_group(zk, top, walk::everything);
    walk w{zk, o};
    const bool is_one = top.is_lock() || top.is_gathering();
    auto beside = top;
    if (beside.is_gathering()) {
        leave_out_parts(beside);
    }
    const bool has_others = top.is_gathering() && !beside.child_names.empty();
    if (!is_one || o.recursive || has_others) {
        constexpr std::size_t all_levels = std::numeric_limits<std::size_t>::max();
        co_await w.below(beside, o.recursive ? all_levels : o.path.empty() ? 2 : 1);
    }
    const bool is_alone = is_one && !o.recursive && w.found.empty();
    auto& all = w.found;
    if (is_one) {
        all.insert(all.begin(), top);
    }
    const bool is_none = all.empty() && w.unlisted.empty();
    w.note_unlisted(top);
    if (is_none && !o.as_json && !o.as_metrics) {
        refuse(top, o.recursive);
    }
    if (o.as_metrics) {
        std::cout << metrics_of(all, w.unlisted.size());
    } else if (o.as_json) {
        json::array locks, unlisted;
        for (const auto& each : all) {
            locks.push_back(as_json(each));
        }
        for (const auto& path : w.unlisted) {
            unlisted.emplace_back(plain(path));
        }
        json::object document;
        document["locks"] = std::move(locks);
        document["unlisted"] = std::move(unlisted);
        std::cout << json::serialize(document) << '\n';
    } else {
        for (const auto& each : all) {
            const bool whole = o.whole || is_alone;
            auto lines = lines_of(each, whole);
            if (each.is_gathering()) {
                lines = co_await gathering_lines(zk, each, whole);
            }
            std::cout << lines;
        }
    }
    std::cout << std::flush;
    if (is_none && (!o.as_metrics || top.unlisted)) { // no lock is nothing unusual there
        refuse(top, o.recursive);
    }
    if (!w.unlisted.empty() && !o.as_metrics) { // these count them
        const auto& first = w.unreadable.empty() ? w.unlisted.front() : w.unreadable;
        throw failure{refused, printable(first, 256) +
                                   (w.unlisted.size() == 1 ? "" : " and others") +
                                   " cannot be listed: " +
                                   (w.unreadable.empty() ? "no request can name such a path"
                                                         : "this client lacks READ; use --auth "
                                                           "with an identity that may")};
    }
    co_return success;
}

} // namespace

void add_ls(program& p)
{
    auto& c = p.add(
        {.name = "ls",
         .synopsis = "[options] [PATH]",
         .summary = "list locks, who holds them, and how many wait",
         .description =
             "Tells of the lock at PATH, with its whole queue, or of all locks one level below it: "
             "their kind, their holders (host:pid (program), how long in the queue, the first half "
             "of the fencing token), and how many wait. Recognises the locks of colock, Curator, "
             "kazoo, go-zookeeper and ZooKeeper's recipe by the names of their nodes. A lock that "
             "nobody holds has no nodes, so it is not listed. Without PATH: the locks on the first "
             "two levels, such as /backup and /locks/backup.\n\n"
             "Groups and shards are named in a line each; of one alone, or with -l, with their "
             "members. A directory of sessions' own nodes is taken for a group, unless they say "
             "whose processes they are, as a lock of a single node does.",
         .examples = {{"colock ls", "the locks on the first two levels"},
                      {"colock ls /locks", "the locks one level below /locks"},
                      {"colock ls -r /", "all locks that there are"},
                      {"colock ls /locks/backup", "one lock, with all that wait"},
                      {"colock ls --json -r /locks | jq '.locks[] | select(.waiting > 10).path'",
                       "the paths of long queues"},
                      {"colock ls -r --prometheus /locks >locks.new && mv locks.new locks.prom",
                       "for the textfile collector of Prometheus' node exporter"}},
         .statuses = {{"1", "There is no lock."}}});
    const auto o = std::make_shared<ls_options>();
    add_path(*c.options, o->path,
             "a lock, or a node with locks below it; without it, the first two levels");
    c.options->add_flag("-r,--recursive", o->recursive, "look all the way down");
    c.options->add_flag("-l,--long", o->whole, "show whole queues, each waiter in a line");
    c.options->add_flag("--json", o->as_json, "print one JSON document");
    c.options
        ->add_flag("--prometheus", o->as_metrics,
                   "print metrics in Prometheus' text format; no lock is no error then")
        ->excludes("--json");
    add_server_options(*c.options, o->servers);
    c.run = [o] {
        const auto options = to_client_options(o->servers);
        return run_client(options,
                          [&](client& zk) { return while_connected(zk, options, list(zk, *o)); });
    };
}

} // namespace colock::cli
