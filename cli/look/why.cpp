// `colock why`: what keeps a lock from going on.
#include <colock/log.hpp>

#include "connect/duration.hpp"
#include "connect/four_letter_word.hpp"
#include "connect/path_argument.hpp"
#include "connect/patience.hpp"
#include "connect/run_client.hpp"
#include "look/diagnosis.hpp"
#include "look/words.hpp"
#include "names/job_record.hpp"
#include "program/exit_status.hpp"
#include "program/failure.hpp"
#include "program/program.hpp"
#include "program/text.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <iostream>
#include <memory>

namespace colock::cli {

namespace {

namespace asio = boost::asio;
namespace json = boost::json;

struct why_options {
    server_options servers;
    diagnosis_options what;
    std::string kind_word;
    std::string admin_port = "8080";
    bool as_json = false;
};

std::string_view word_for(health h)
{
    switch (h) {
    case health::alive: return "alive";
    case health::silent: return "silent";
    case health::stopped: return "stopped";
    case health::dead: return "dead";
    case health::by_hand: return "by_hand";
    case health::unreadable: return "unreadable";
    case health::unknown: break;
    }
    return "unknown";
}

// The one for whom it waits at once: readers wait for the last one before them that is none.
const queue_entry* blocker_of(const std::vector<queue_entry>& queue, std::size_t i)
{
    for (auto before = i; before-- != 0;) {
        if (!queue[i].shared || !queue[before].shared) {
            return &queue[before];
        }
    }
    return nullptr;
}

std::string holder_lines(const queue_entry& e, const session_facts& facts)
{
    const auto known = examine(e, facts);
    auto text = "  holder " + who(e);
    if (!e.unread && !e.unreadable) {
        text += ", " + standing_words(e) + " (since " + time_words(e.since) + "), token " +
                token_words(e) + "...";
        text += has_session(e) ? ", session " + session_words(e.session) : "";
        text += e.shared ? ", shared" : "";
    }
    text += "\n         " + std::string{word_for(known.state)};
    text += known.words.empty() ? "\n" : ": " + known.words + '\n';
    return text;
}

std::string lines_of(const seen_lock& lock, const session_facts& facts)
{
    auto text = printable(lock.path) + ": ";
    if (lock.unlisted) {
        return text + "cannot be listed: " + in_own_words(lock.unlisted.message()) + '\n';
    }
    if (lock.is_gathering()) {
        return text + kind_words(lock) + ", " + gathering_words(lock) + '\n';
    }
    if (!lock.is_lock()) {
        return text +
               (lock.may_be_free_lock() ? "free"
                : lock.exists           ? "no lock"
                                        : "does not exist") +
               (lock.job.empty() ? ""
                                 : "; " + printable(job_record_of(lock.path) + ": " + lock.job)) +
               '\n';
    }
    const auto holders = lock.queue.holders().size();
    text += kind_words(lock) + ", " + std::to_string(holders) + (holders == 1 ? " holds" : " hold");
    if (lock.permits) {
        text += " of " + std::to_string(*lock.permits) + " permits";
    }
    text +=
        ", " + std::to_string(lock.waiting()) + (lock.waiting() == 1 ? " waits" : " wait") + '\n';
    std::size_t unread = 0;
    const auto& queue = lock.queue.entries;
    for (std::size_t i = 0; i != queue.size(); ++i) {
        const auto& e = queue[i];
        if (e.unread) {
            ++unread;
        } else if (e.holds) {
            text += holder_lines(e, facts);
        } else {
            text += "  waits  " + who(e);
            text += e.unreadable ? "" : ", " + standing_words(e);
            const auto* const before = blocker_of(queue, i);
            text += before ? ", behind " + who(*before) + '\n' : "\n";
        }
    }
    if (unread != 0) {
        text += "  and " + std::to_string(unread) + " more, which were not read\n";
    }
    for (const auto& k : lock.others) {
        text += "  beside them nodes of " + with_article(words_for(k.what)) + ", such as " +
                printable(k.example) + '\n';
    }
    return text;
}

std::string as_text(const diagnosis& all)
{
    std::string text;
    for (std::size_t i = 0; i != all.locks.size(); ++i) {
        text += i == all.asked_for ? "beside:\n" : "";
        text += lines_of(all.locks[i], all.facts);
    }
    for (const auto& note : all.facts.notes) {
        text += "note: " + printable(note) + '\n';
    }
    text +=
        "sent " + std::to_string(all.reads) + " reads; asked " + std::to_string(all.facts.servers) +
        (all.facts.servers == 1 ? " server " : " servers ") + std::to_string(all.facts.questions) +
        (all.facts.questions == 1 ? " question\n" : " questions\n");
    return text + "culprit: " + all.found.text + '\n';
}

json::object lock_as_json(const seen_lock& lock, const session_facts& facts)
{
    auto o = as_json(lock);
    // The entries that were read, in their order, as in as_json().
    const auto add = [&](const char* list, bool holds) {
        auto at = o[list].as_array().begin();
        for (const auto& e : lock.queue.entries) {
            if (e.unread || e.holds != holds) {
                continue;
            }
            auto& entry = (at++)->as_object();
            const auto known = examine(e, facts);
            entry["health"] = word_for(known.state);
            entry["known"] = known.words;
            if (known.connection && known.connection->silent) {
                entry["silent_ms"] = known.connection->silent->count();
            }
        }
    };
    add("holders", true);
    add("waiters", false);
    return o;
}

std::string as_json_text(const diagnosis& all)
{
    json::array locks, beside, notes;
    for (std::size_t i = 0; i != all.locks.size(); ++i) {
        (i < all.asked_for ? locks : beside).push_back(lock_as_json(all.locks[i], all.facts));
    }
    for (const auto& note : all.facts.notes) {
        notes.emplace_back(printable(note));
    }
    json::object o;
    o["locks"] = std::move(locks);
    o["beside"] = std::move(beside);
    o["notes"] = std::move(notes);
    o["reads"] = all.reads;
    o["questions"] = all.facts.questions;
    o["cause"] = word_for(all.found.what);
    o["path"] = plain(all.found.path);
    if (!all.found.node.empty()) {
        o["node"] = plain(all.found.node);
    }
    o["culprit"] = all.found.text;
    return json::serialize(o) + '\n';
}

int status_for(cause c)
{
    switch (c) {
    case cause::held:
    case cause::long_queue:
    case cause::free: return success;
    case cause::permission: return refused;
    default: return not_found_here;
    }
}

asio::awaitable<int> tell(client& zk, const client_options& options, const why_options& o)
{
    const auto all = co_await diagnose(zk, options, o.what);
    std::cout << (o.as_json ? as_json_text(all) : as_text(all)) << std::flush;
    co_return status_for(all.found.what);
}

const std::string& description()
{
    static const std::string text = [] {
        std::string t =
            "Tells who holds each lock, since when, on which host, as which process; who waits, "
            "and behind whom; whether the holder lives, as far as this host and the servers tell; "
            "and whether holders wait for each other in a circle. The last line names the culprit. "
            "Each cause has a word, which --json has as \"cause\":\n\n";
        for (const auto& c : all_causes()) {
            t += "  " + std::string{c.word} + std::string(18 - c.word.size(), ' ') +
                 std::string{c.words} + '\n';
        }
        t += "\nIt changes nothing. It reads the first " + std::to_string(most_nodes_read) +
             " nodes of a queue, however long that is, and sends at most " +
             std::to_string(most_requests_a_path) +
             " requests a path; twice that when a holder seems dead, for it looks again; and as "
             "many for each of up to " +
             std::to_string(most_followed) +
             " other locks that the contenders hold or wait for. Of shards it reads two nodes for "
             "each shard and one for each member, and looks at the locks of four that move. It "
             "asks the servers for their connections by the four-letter words cons and dump. Where "
             "zoo.cfg does not let them (4lw.commands.whitelist=srvr,conf,cons,dump), or the "
             "servers speak TLS, it asks their AdminServers.\n";
        return t;
    }();
    return text;
}

} // namespace

void add_why(program& p)
{
    auto& c = p.add(
        {.name = "why",
         .synopsis = "[options] PATH...",
         .summary = "tell what keeps a lock from going on, and who",
         .description = description(),
         .examples =
             {{"colock why /locks/backup", "who holds it, and whether that process lives"},
              {"colock why /locks/a /locks/b", "also whether their holders wait for each other"},
              {"colock why --json /locks/backup | jq -r .cause", "the cause alone, for scripts"},
              {"colock why --kind mutex /locks/pool", "also whether it is a lock of another kind"}},
         .statuses = {{"0", "The holder works, as far as can be told, or nobody has the lock."},
                      {"1", "Another cause keeps the lock from going on."},
                      {"122", "Refused: a permission is missing."}}});
    const auto o = std::make_shared<why_options>();
    add_path(*c.options, o->what.paths, "the path of a lock")->required();
    c.options->add_flag("--json", o->as_json, "print one JSON document");
    c.options
        ->add_option("--kind", o->kind_word,
                     "the kind of lock that you take it for: " + joined(all_kind_words(), ", "))
        ->check(CLI::IsMember(all_kind_words()))
        ->type_name("KIND");
    add_admin_port(*c.options, o->admin_port);
    add_server_options(*c.options, o->servers);
    c.run = [o] {
        if (!o->kind_word.empty()) {
            o->what.expected = kind_from(o->kind_word);
        }
        o->what.admin_port = o->admin_port == "0" ? "" : o->admin_port;
        const auto options = to_client_options(o->servers);
        return run_client(options, [&](client& zk) {
            return while_connected(zk, options, tell(zk, options, *o));
        });
    };
}

} // namespace colock::cli
