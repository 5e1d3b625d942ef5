#include "health/leftover_look.hpp"

#include "connect/awaiting.hpp"
#include "connect/duration.hpp"
#include "health/scratch.hpp"
#include "lib/names/node_owner.hpp"

#include <boost/system/system_error.hpp>

#include <deque>

namespace colock::cli {

namespace asio = boost::asio;
using std::chrono::milliseconds;

namespace {

// How many there are, and the first few by name.
class names {
public:
    void add(const std::string& name)
    {
        if (count_++ < shown_most) {
            text_ += (text_.empty() ? "" : ", ") + name;
            shown_.push_back(name);
        }
    }
    [[nodiscard]] const std::vector<std::string>& shown() const { return shown_; }
    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] std::string text() const
    {
        return text_ +
               (count_ > shown_most ? " and " + std::to_string(count_ - shown_most) + " more" : "");
    }

private:
    static constexpr std::size_t shown_most = 3;
    std::size_t count_ = 0;
    std::string text_;
    std::vector<std::string> shown_;
};

struct leftovers {
    names without_session;
    names old;
    names empty;
    std::size_t nodes = 0;
    std::size_t contenders = 0;
    std::size_t unread = 0;
    bool may_not_read = false; // one of them
    bool all = true;
    bool missing = false;
};

void judge(const std::string& path, const std::string& name, const node_stat& stat,
           milliseconds oldest, leftovers& l)
{
    const bool is_old = milliseconds{stat.ctime} < oldest;
    if (is_contender_name(name)) {
        ++l.contenders;
        if (!colock::detail::is_of_session(stat.ephemeral_owner)) {
            l.without_session.add(path);
        } else if (is_old) {
            l.old.add(path);
        }
    } else if (stat.ephemeral_owner == 0 && stat.num_children == 0 && stat.cversion > 0 && is_old) {
        l.empty.add(path); // which had children
    }
}

asio::awaitable<void> look_below(client& zk, std::string top, milliseconds oldest, leftovers& l)
{
    constexpr std::size_t most = 1000;
    std::deque<std::string> left{top};
    for (; !left.empty(); left.pop_front()) {
        if (l.nodes == most) {
            l.all = false;
            co_return;
        }
        ++l.nodes;
        const auto path = left.front();
        const auto [ec, found] = co_await zk.async_children(path, no_throw);
        if (ec == asio::error::operation_aborted) {
            throw boost::system::system_error{ec};
        }
        if (ec == zookeeper_errc::no_node && path == top) {
            l.missing = true;
            co_return;
        }
        if (ec) {
            l.unread += ec != zookeeper_errc::no_node;
            l.may_not_read =
                l.may_not_read || (ec != zookeeper_errc::no_node && ec != errc::invalid_path);
            continue;
        }
        judge(path, last_name(path), found.stat, oldest, l);
        for (const auto& name : found.names) {
            if (path != "/" || name != "zookeeper") { // the servers' own
                left.push_back(child_of(path, name));
            }
        }
    }
}

// A line for each of those that are named, where it can be typed.
template <class Line>
std::string commands_for(const names& of, Line line)
{
    std::string all;
    for (const auto& path : of.shown()) {
        if (const auto words = line(path); !words.empty()) {
            all += (all.empty() ? "" : "\n") + words;
        }
    }
    return all;
}

} // namespace

asio::awaitable<void> look_for_leftovers(client& zk, std::string path, milliseconds old,
                                         findings& found)
{
    const auto now = std::chrono::duration_cast<milliseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    leftovers l;
    co_await look_below(zk, path, now - old, l);
    if (l.missing) {
        co_return; // look_at_access has said so
    }
    if (!l.without_session.empty()) {
        found.add(severity::warning, "leftover",
                  "contenders without a session, which block their lock for ever: " +
                      l.without_session.text() + "; `colock break` removes them",
                  commands_for(l.without_session, [&](const std::string& node) {
                      const auto lock = shell_word(lock_of_node(node));
                      const auto name = shell_word(last_name(node));
                      return lock.empty() || name.empty()
                                 ? std::string{}
                                 : "colock break" + found.options_of_servers + " --node " + name +
                                       ' ' + lock;
                  }));
    }
    if (!l.old.empty()) {
        found.add(severity::warning, "leftover",
                  "contenders older than " + shown(old) + ": " + l.old.text() +
                      "; `colock why` says whose they are",
                  commands_for(l.old, [&](const std::string& node) {
                      const auto lock = shell_word(lock_of_node(node));
                      return lock.empty() ? lock
                                          : "colock why" + found.options_of_servers + ' ' + lock;
                  }));
    }
    if (!l.empty.empty()) {
        // Servers do not tell which of these are containers.
        found.add(severity::unknown, "leftover",
                  "empty now, and made more than " + shown(old) + " ago: " + l.empty.text() +
                      "; containers go by themselves some minutes after their last use; one "
                      "that stays longer without use is no container: remove it",
                  commands_for(l.empty, [&](const std::string& node) {
                      const auto word = shell_word(node);
                      return word.empty() || found.plain_servers.empty()
                                 ? std::string{}
                                 : "zkCli.sh -server " + found.plain_servers + " delete " + word;
                  }));
    }
    if (l.unread > 0 || !l.all) {
        found.add(severity::unknown, "leftover",
                  "looked at " + std::to_string(l.nodes - l.unread) + " nodes below " + path +
                      ", " +
                      (!l.all           ? "there are more: name a PATH further down"
                       : l.may_not_read ? "others may not be read: use --auth"
                                        : "no request can name the paths of others"));
    } else if (l.without_session.empty() && l.old.empty() && l.empty.empty()) {
        found.good("leftover", "nothing looks left over: " + std::to_string(l.nodes) + " nodes, " +
                                   std::to_string(l.contenders) + " of them contenders");
    }
}

} // namespace colock::cli
