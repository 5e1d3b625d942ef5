// `colock top`: locks as they change hands, on a screen that is drawn again and again.
#include <colock/client.hpp>
#include <colock/log.hpp>

#include "connect/awaiting.hpp"
#include "connect/duration.hpp"
#include "connect/path_argument.hpp"
#include "connect/patience.hpp"
#include "connect/run_client.hpp"
#include "connect/until_signal.hpp"
#include "look/hands.hpp"
#include "look/look_at.hpp"
#include "look/screen.hpp"
#include "look/words.hpp"
#include "names/job_record.hpp"
#include "program/exit_status.hpp"
#include "program/failure.hpp"
#include "program/program.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock::cli {

namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using std::chrono::steady_clock;
constexpr std::size_t nodes_read = 2;
constexpr std::size_t most_members_read = 256; // each second

struct top_options {
    server_options servers;
    std::vector<std::string> paths;
    std::chrono::milliseconds interval = std::chrono::seconds{1};
    bool as_json = false;
};

std::string padded(std::string text, std::size_t width)
{
    text.resize(std::max(width, text.size()), ' ');
    return text + "  ";
}

class table {
public:
    table(client& zk, const top_options& o) : zk_{zk}, options_{o} {}

    // Reads everything once. Waits while there is no connection.
    asio::awaitable<void> look()
    {
        std::vector<seen_lock> all;
        const auto add = [&all](seen_lock one) { // a path may be below another one
            if (std::ranges::find(all, one.path, &seen_lock::path) == all.end()) {
                all.push_back(std::move(one));
            }
        };
        for (const auto& path : options_.paths) {
            auto top = co_await look_at(zk_, path, nodes_read);
            co_await confirm_group(zk_, top, most_members_read);
            if (top.is_gathering()) {
                add(top);
                leave_out_parts(top);
            } else if (top.is_lock() || !top.exists || top.unlisted || top.child_names.empty()) {
                add(std::move(top));
                continue;
            }
            auto names = std::move(top.child_names);
            std::ranges::sort(names);
            for (const auto& name : names) {
                auto below = co_await look_at_path_of_others(zk_, child_of(path, name), nodes_read);
                co_await confirm_group(zk_, below, most_members_read);
                if (below.is_lock() || below.is_gathering() || below.may_be_free_lock() ||
                    below.unlisted) {
                    add(std::move(below));
                }
            }
        }
        locks_ = std::move(all);
        remember_owners();
        looked_ = steady_clock::now();
        for (const auto& lock : locks_) {
            const auto holders = lock.queue.holders();
            if (!holders.empty() && !holders.front().unread && !holders.front().unreadable) {
                hands_[lock.path].seen(holders.front(), looked_);
            }
        }
        std::erase_if(hands_, [&](const auto& each) { // of locks that have gone
            return each.second.is_idle(looked_) &&
                   std::ranges::find(locks_, each.first, &seen_lock::path) == locks_.end();
        });
        fault_.clear();
    }

    void failed(const std::string& why) { fault_ = why; }

    [[nodiscard]] std::string text() const
    {
        const auto now = steady_clock::now();
        auto out = connection(now) + "\n\n";
        std::size_t widest = 4;
        for (const auto& lock : locks_) {
            widest = std::max(widest, printable(lock.path).size());
        }
        widest = std::min<std::size_t>(widest, 48); // a longer name moves its own line only
        // The kind comes last: lines are cut at the edge of the screen.
        out += padded("LOCK", widest) + columns("IN QUEUE", "WAIT", "PER MIN", "HOLDER", "KIND") +
               '\n';
        for (const auto& lock : locks_) {
            out += padded(printable(lock.path), widest) + line_of(lock, now) + '\n';
        }
        return out;
    }

    // What was seen last, or why nothing was.
    [[nodiscard]] json::object document() const
    {
        json::object all{{"time", time_words(std::chrono::system_clock::now())}};
        if (!fault_.empty()) {
            all["fault"] = fault_;
            return all;
        }
        json::array locks;
        for (const auto& lock : locks_) {
            locks.push_back(as_json(lock));
        }
        all["locks"] = std::move(locks);
        return all;
    }

    [[nodiscard]] bool found_a_lock() const
    {
        return std::ranges::any_of(locks_, [](const seen_lock& l) {
            return l.is_lock() || l.is_gathering() || l.may_be_free_lock();
        });
    }

    [[nodiscard]] bool lacks_permission() const
    {
        return std::ranges::any_of(
            locks_, [](const seen_lock& l) { return l.unlisted == zookeeper_errc::no_auth; });
    }

private:
    // A request to let go takes the place of what a holder says of itself, for a moment or for good.
    void remember_owners()
    {
        std::map<std::int64_t, std::string> now;
        for (auto& lock : locks_) {
            for (auto& e : lock.queue.entries) {
                if (e.unread || e.unreadable) {
                    continue;
                }
                const auto before = owners_.find(e.czxid);
                if (e.data == revocation_request && before != owners_.end()) {
                    e.data = before->second + '\n' + std::string{revocation_request};
                }
                now.emplace(e.czxid, e.owner().text);
            }
        }
        owners_ = std::move(now);
    }

    [[nodiscard]] std::string connection(steady_clock::time_point now) const
    {
        std::string text = "colock top: ";
        switch (zk_.state()) {
        case connection_state::connected: text += "connected"; break;
        case connection_state::suspended: text += "connection lost, trying again"; break;
        case connection_state::idle:
        case connection_state::connecting: text += "connecting"; break;
        case connection_state::closed: text += "closed"; break;
        }
        if (looked_ != steady_clock::time_point{}) {
            text += ", looked " + shown(now - looked_) + " ago";
        }
        return text + (fault_.empty() ? "" : "; " + fault_) + "; q ends";
    }

    [[nodiscard]] std::string line_of(const seen_lock& lock, steady_clock::time_point now) const
    {
        if (lock.unlisted) { // others may have made a path that no request can name
            return (lock.unlisted_path == lock.path ? "" : printable(lock.unlisted_path) + ' ') +
                   "cannot be listed: " + in_own_words(lock.unlisted.message());
        }
        if (!lock.exists) {
            return "does not exist";
        }
        if (lock.is_gathering()) {
            return columns("-", "-", "-", gathering_words(lock), kind_words(lock));
        }
        if (is_job_record(lock.data) && !lock.is_lock()) {
            return "no lock, but the record of a job";
        }
        const auto holders = lock.queue.holders();
        const auto counted = hands_.find(lock.path);
        std::string age = "-",
                    holder = lock.is_lock() || lock.child_names.empty() ? "nobody" : "no lock";
        if (!holders.empty()) {
            const auto& first = holders.front();
            age = first.unread || first.unreadable ? "?" : age_words(first);
            holder = who(first);
            if (holders.size() > 1) {
                holder += " and " + std::to_string(holders.size() - 1) + " more";
            }
        }
        return columns(age, std::to_string(lock.waiting()),
                       counted == hands_.end() ? "-" : counted->second.a_minute(now), holder,
                       lock.is_lock() ? kind_words(lock) : "");
    }

    static std::string columns(std::string age, std::string waiting, std::string changes,
                               std::string holder, std::string kind)
    {
        return padded(std::move(age), 11) + padded(std::move(waiting), 5) +
               padded(std::move(changes), 7) + padded(std::move(holder), 30) + std::move(kind);
    }

    client& zk_;
    const top_options& options_;
    std::vector<seen_lock> locks_;
    std::map<std::string, hands> hands_;
    std::map<std::int64_t, std::string> owners_; // what they said of themselves, by czxid
    steady_clock::time_point looked_{};
    std::string fault_;
};

bool is_over(const boost::system::system_error& e)
{
    return e.code() == asio::error::operation_aborted || e.code() == errc::client_closed;
}

asio::awaitable<void> look_or_say_why_not(table& t)
{
    try {
        co_await t.look();
    } catch (const boost::system::system_error& e) {
        if (is_over(e)) {
            throw;
        }
        t.failed(in_own_words(printable(e.what(), 256)));
    }
}

asio::awaitable<void> catch_up_with(client& zk, const top_options& o)
{
    for (const auto& path : o.paths) {
        co_await catch_up(zk, path);
    }
}

asio::awaitable<void> keep_looking(client& zk, table& t, const top_options& o)
{
    co_await catch_up_with(zk, o);
    for (;;) {
        co_await look_or_say_why_not(t);
        co_await pause(o.interval);
    }
}

// For machines, a line for each look, also for one that waits for a connection.
asio::awaitable<void> keep_printing(client& zk, table& t, const top_options& o)
{
    const auto interval = o.interval;
    for (bool caught_up = false;;) {
        auto look = caught_up ? look_or_say_why_not(t) : catch_up_with(zk, o);
        const auto first = co_await first_of(std::move(look), until_lost(zk, interval));
        const bool is_done = first.index() == 0;
        if (is_done && !std::exchange(caught_up, true)) {
            continue;
        }
        if (!is_done) {
            t.failed("there is no connection");
        }
        std::cout << json::serialize(t.document()) << '\n' << std::flush;
        if (!std::cout) {
            throw failure{usage, "the standard output cannot be written"};
        }
        if (is_done) {
            co_await pause(interval);
        }
    }
}

// Also while a look waits for a connection.
asio::awaitable<void> keep_drawing(const table& t, screen& s, std::chrono::milliseconds interval)
{
    constexpr std::chrono::milliseconds at_first{50};
    for (auto next = at_first;; next = interval) {
        s.draw(t.text());
        co_await pause(std::min(next, interval));
    }
}

asio::awaitable<void> wait_for_q()
{
    const auto executor = co_await asio::this_coro::executor;
    auto keys = open_terminal(executor);
    if (!keys.is_open()) {
        co_await wait_for_ever();
    }
    for (char key = 0; key != 'q' && key != 'Q';) {
        const auto into = asio::buffer(&key, 1);
        const auto [ec, n] = co_await keys.async_read_some(into, no_throw);
        if (ec == asio::error::operation_aborted) {
            throw boost::system::system_error{ec};
        }
        if (ec) {
            co_return; // the terminal has gone
        }
    }
}

// run_client knows the signals that end it.
asio::awaitable<void> obey_signals(const table& t, screen& s)
{
    const auto executor = co_await asio::this_coro::executor;
    asio::signal_set signals{executor};
    hear(signals, {SIGWINCH, SIGTSTP});
    for (;;) {
        const auto number = co_await signals.async_wait(asio::use_awaitable);
        if (number == SIGTSTP) {
            s.stop_process();
        }
        s.draw(t.text());
    }
}

asio::awaitable<int> watch(client& zk, const top_options& o)
{
    table t{zk, o};
    if (o.as_json) {
        co_await keep_printing(zk, t, o);
    }
    if (!has_screen()) {
        co_await catch_up_with(zk, o);
        co_await t.look();
        std::cout << t.text() << std::flush;
        co_return t.found_a_lock() ? success : t.lacks_permission() ? refused : not_found_here;
    }
    screen s;
    co_await first_of(wait_for_q(), obey_signals(t, s), keep_looking(zk, t, o),
                      keep_drawing(t, s, o.interval));
    co_return success;
}

} // namespace

void add_top(program& p)
{
    auto& c = p.add(
        {.name = "top",
         .synopsis = "[options] PATH...",
         .summary = "watch locks change hands",
         .description = "Shows who holds each lock, for how long the holder has been in its queue, "
                        "how many wait, and how often it has changed hands within the last minute, "
                        "counted by the numbers of the nodes. A PATH may have locks one level "
                        "below it. Goes on while there is no connection, and says so. Ends with q "
                        "or Ctrl-C. Where there is no terminal it prints all once.",
         .examples = {{"colock top /locks", "all locks one level below /locks"},
                      {"colock top --interval 200ms /locks/backup",
                       "one lock, five times a second"},
                      {"colock top /locks | cat", "print once"},
                      {"colock top --json /locks | jq -c '.locks[] | select(.waiting > 10).path'",
                       "long queues, as they are seen"}},
         .statuses = {{"1", "Without a terminal: there is no lock."}}});
    const auto o = std::make_shared<top_options>();
    add_path(*c.options, o->paths, "a lock, or a node with locks below it")->required();
    add_duration(*c.options, "--interval", o->interval, "how often to look and to draw")
        ->default_str("1s");
    c.options->add_flag("--json", o->as_json,
                        "print a JSON object a line for each look, until interrupted");
    add_server_options(*c.options, o->servers);
    c.run = [o] {
        if (o->interval < std::chrono::milliseconds{10}) {
            throw failure{usage, "--interval is too short; 10ms is the shortest"};
        }
        const auto options = to_client_options(o->servers);
        return run_client(options, [&](client& zk) {
            const bool goes_on = o->as_json || has_screen();
            return goes_on ? watch(zk, *o) : while_connected(zk, options, watch(zk, *o));
        });
    };
}

} // namespace colock::cli
