// ZooKeeper as far as a lock's directory depends on it, small enough to be walked through
// exhaustively.
//
// Most walks have one server; some have a second one, which stalls with old requests. No server of the model lags. A
// replica that lags answers a read with an older state, but not with one that is older than what its client has seen.
// Whatever such a client does could as well have been done earlier, before the writes that the replica had not seen.
// So a server whose answers and events take arbitrarily long shows every order that matters, given the barrier on
// every new connection.
#pragma once

#include "messages.hpp"

namespace colock::model {

// The server. Each function is one step of it.
class zookeeper {
public:
    zookeeper(std::size_t clients, bool directory_exists, layout l, std::int64_t first,
              bool may_be_replaced, bool strange)
        : directory{directory_exists}, names{std::move(l)}, first_number{first},
          replaceable{may_be_replaced}, stranger{strange}
    {
        for (std::size_t i = 0; i != clients; ++i) {
            sessions.push_back({.id = static_cast<std::uint8_t>(i + 1)});
        }
    }

    // The next request of a client, whether or not its connection still stands.
    void process(std::size_t client, texts& text)
    {
        auto& s = sessions[client];
        const auto r = s.requests.front();
        s.requests.erase(s.requests.begin());
        message reply{.op = r.op, .wanted = r.wanted, .name = r.name, .turn = r.turn};
        if (s.behind && is_read(r.op)) {
            read(s, *s.behind, reply, text);
            return;
        }
        catch_up(client); // a write is answered behind all that precedes it
        const auto at = find(r.name);
        switch (r.op) {
        case operation::make_directory:
            if (!directory) {
                directory = replaceable = true;
                ++incarnation;
            }
            break;
        case operation::create:
            if (directory) {
                const auto name = text[r.name] + digits_of(counter);
                nodes.push_back({text(name), static_cast<std::uint8_t>(client), s.id, counter++,
                                 ++creations, protocol::is_shared(names, name)});
                note_leaders();
                tell_of_children();
                reply.name = nodes.back().name;
                reply.owner = s.id;
                reply.czxid = nodes.back().czxid;
            } else {
                reply.code = result::no_node;
            }
            break;
        case operation::list:
        case operation::list_again:
        case operation::list_and_watch:
        case operation::watch_newcomers:
        case operation::watch:
        case operation::read_directory: read(s, newest(s), reply, text); return;
        case operation::remove:
            if (at == nodes.size()) {
                reply.code = result::no_node;
            } else {
                remove(at);
            }
            break;
        case operation::step_down: {
            const auto own = node_of(client);
            if (exists(r.name)) {
                reply.code = result::node_exists;
            } else if (own == nodes.size()) {
                reply.code = result::no_node;
            } else {
                auto reader = nodes[own];
                reader.name = r.name;
                reader.czxid = ++creations;
                reader.shared = true;
                nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(own) + 1, reader);
                remove(own);
            }
            break;
        }
        case operation::remove_directory:
            if (directory && nodes.empty() && !stranger) {
                reap();
            }
            return;
        case operation::forget: forget(s, r.name); return; // nobody looks at the answer
        }
        if (s.connected) {
            reply.led = s.led;
            s.messages.push_back(reply); // after the events of its own write
        }
    }

    // Whether the client's next request would bring nothing new: it stands by, and the queue is not empty.
    [[nodiscard]] bool stands_by(std::size_t client) const
    {
        const auto& s = sessions[client];
        if (s.requests.empty() || s.requests.front().op != operation::list_again) {
            return false;
        }
        const auto shown = s.behind ? *s.behind : newest(s);
        return shown.directory && !shown.nodes.empty() &&
               shown.incarnation == s.requests.front().directory;
    }

    // From now on the client's server carries nothing out, until it catches up.
    void fall_behind(std::size_t client) { sessions[client].behind = newest(sessions[client]); }

    void catch_up(std::size_t client)
    {
        auto& s = sessions[client];
        if (!s.behind) {
            return;
        }
        const auto changes = s.behind->changes;
        s.behind.reset();
        for (const auto& c : changes) {
            tell(s, c.name, c.deleted, c.led);
        }
    }

    // It is answered, but not carried out.
    void refuse(std::size_t client, result why)
    {
        auto& s = sessions[client];
        const auto r = s.requests.front();
        s.requests.erase(s.requests.begin());
        if (s.connected && is_answered(r.op)) {
            s.messages.push_back({.op = r.op,
                                  .wanted = r.wanted,
                                  .code = why,
                                  .name = r.name,
                                  .turn = r.turn,
                                  .led = s.led});
        }
    }

    // The directory stays a container; a node of it goes, whoever asked for that.
    void remove(std::size_t at)
    {
        const auto name = nodes[at].name;
        boost::container::static_vector<text_id, 2 * max_clients> blocked_before;
        for (std::size_t i = 0; i != nodes.size(); ++i) {
            if (blocked(i)) {
                blocked_before.push_back(nodes[i].name);
            }
        }
        nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(at));
        freed = 0;
        for (std::size_t i = 0; i != nodes.size(); ++i) {
            freed +=
                !blocked(i) && std::ranges::count(blocked_before, nodes[i].name) != 0 ? 1u : 0u;
        }
        note_leaders();
        removed = name;
        woken.clear();
        for (std::size_t client = 0; client != sessions.size(); ++client) {
            auto& s = sessions[client];
            if (watches(s, name)) {
                woken.push_back(client);
            }
            tell(s, name, true, s.led);
        }
        tell_of_children();
    }

    // A foreign writer that is there from before.
    void settle_foreigner(texts& text)
    {
        nodes.push_back({text("_c_f-" + names.marker + digits_of(counter)), foreigner, 0, counter,
                         ++creations, false});
        ++counter;
    }

    // It steps down in Curator's way: a reader with its number, then the writer goes.
    void downgrade_foreigner(texts& text)
    {
        nodes.insert(nodes.begin() + 1, {text("_c_f-" + names.shared_marker + digits_of(0)),
                                         foreigner, 0, 0, ++creations, true});
        remove(0);
    }

    // Whether a node before it keeps its contender from being granted.
    [[nodiscard]] bool blocked(std::size_t at) const
    {
        return std::any_of(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(at),
                           [&](const node& n) { return !nodes[at].shared || !n.shared; });
    }

    // Somebody writes to the node.
    void change(std::size_t at)
    {
        for (auto& s : sessions) {
            tell(s, nodes[at].name, false, s.led);
        }
    }

    void expire(std::size_t client)
    {
        auto& s = sessions[client];
        s.alive = false; // its requests are not carried out any more
        // The connection may carry the events of this before it is closed.
        for (auto at = nodes.size(); at != 0; --at) {
            if (nodes[at - 1].client == client) {
                remove(at - 1);
            }
        }
        s.watches.clear();
        s.behind.reset();
    }

    // Answers and events on their way to the client are lost, those to the server are not yet.
    void disconnect(std::size_t client)
    {
        auto& s = sessions[client];
        s.connected = false;
        s.messages.clear();
        s.watches.clear();
        s.behind.reset(); // the next connection begins with a quorum write
    }

    // Behind a barrier nothing of the previous connection comes later.
    void connect(std::size_t client, bool barrier)
    {
        auto& s = sessions[client];
        s.connected = true;
        if (!barrier) {
            s.late.insert(s.late.end(), s.requests.begin(), s.requests.end());
        }
        s.requests.clear();
    }

    // The next request of a previous connection, whose answer nobody gets.
    void process_late(std::size_t client, texts& text)
    {
        process_unheard(client, sessions[client].late, text);
    }

    // The client has given up its connection, and its server has not read everything yet.
    void leave_unread(std::size_t client)
    {
        auto& s = sessions[client];
        auto& old = s.old[s.at];
        old.insert(old.end(), s.requests.begin(), s.requests.end());
        s.requests.clear();
        s.moved = false;
    }

    // The server closes the session's earlier connection to itself; what it has read of it goes before. A server that
    // answers has read the earlier attempts, too.
    void connect_to(std::size_t client, std::uint8_t server)
    {
        auto& s = sessions[client];
        s.connected = true;
        s.moved = false;
        s.at = s.owner = server;
        s.offered = static_cast<std::uint8_t>(s.offered & ~(1U << server));
        s.old[server].clear();
    }

    // A server reads the attempt that was given up.
    void take_over(std::size_t client, std::uint8_t server)
    {
        auto& s = sessions[client];
        s.offered = static_cast<std::uint8_t>(s.offered & ~(1U << server));
        s.owner = server;
        s.moved = s.connected && s.at != server;
    }

    // A server forwards the next request of a connection that was given up; the leader asks whose the session is.
    void process_old(std::size_t client, std::uint8_t server, texts& text)
    {
        auto& s = sessions[client];
        if (s.owner == server) {
            process_unheard(client, s.old[server], text);
        } else {
            s.old[server].erase(s.old[server].begin());
        }
    }

    void new_session(std::size_t client)
    {
        auto& s = sessions[client];
        s = {.id = static_cast<std::uint8_t>(s.id + sessions.size()),
             .connected = false,
             .led = s.led};
    }

    // A server removes an empty container after a while, and with it the counter.
    void reap()
    {
        directory = false;
        counter = 0;
        first_number = 0;
    }

    // As the server writes the number of a node.
    [[nodiscard]] std::string digits_of(std::uint8_t number) const
    {
        const auto at = std::min(first_number + number, std::int64_t{0x7fffffff});
        char digits[24];
        std::snprintf(digits, sizeof digits, "%010lld", static_cast<long long>(at));
        return digits;
    }

    [[nodiscard]] static bool is_read(operation op) noexcept
    {
        return op == operation::list || op == operation::list_again || op == operation::watch ||
               op == operation::read_directory || op == operation::forget;
    }

    [[nodiscard]] static bool is_answered(operation op) noexcept
    {
        return op != operation::forget && op != operation::remove_directory;
    }

    [[nodiscard]] std::size_t find(text_id name) const
    {
        return static_cast<std::size_t>(std::ranges::find(nodes, name, &node::name) -
                                        nodes.begin());
    }

    [[nodiscard]] bool exists(text_id name) const { return find(name) != nodes.size(); }

    [[nodiscard]] std::size_t nodes_of(std::size_t client) const
    {
        return static_cast<std::size_t>(std::ranges::count(nodes, client, &node::client));
    }

    [[nodiscard]] std::size_t node_of(std::size_t client) const
    {
        return static_cast<std::size_t>(std::ranges::find(nodes, client, &node::client) -
                                        nodes.begin());
    }

    [[nodiscard]] bool is_writer(text_id name) const
    {
        return exists(name) && !nodes[find(name)].shared;
    }

    [[nodiscard]] bool has_node(std::size_t client) const { return nodes_of(client) != 0; }

    bool directory;
    layout names;
    std::int64_t first_number;    // of this directory
    bool replaceable;             // a directory that a client makes is like it
    bool stranger;                // a child that is no contender, and stays
    std::uint8_t counter = 0;     // of the directory
    std::uint8_t creations = 0;   // ever
    std::uint8_t incarnation = 1; // of the directory
    // In the order of their numbers.
    boost::container::static_vector<node, 2 * max_clients> nodes = {};
    boost::container::static_vector<session, max_clients> sessions = {};
    // The last removal: the node, and the clients that are told.
    text_id removed = 0;
    boost::container::static_vector<std::size_t, max_clients> woken = {};
    std::size_t freed = 0; // whose turn came by it

private:
    [[nodiscard]] view newest(const session& s) const
    {
        return {.nodes = nodes, .directory = directory, .incarnation = incarnation, .led = s.led};
    }

    // A read, or the end of a watch.
    void read(session& s, const view& shown, message reply, texts& text)
    {
        const auto at = std::ranges::find(shown.nodes, reply.name, &node::name);
        switch (reply.op) {
        case operation::list_and_watch:
        case operation::watch_newcomers:
            if (shown.directory && s.connected && !watches(s, 0)) {
                s.watches.insert(s.watches.begin(), text_id{0});
            }
            [[fallthrough]];
        case operation::list:
        case operation::list_again:
            reply.code = shown.directory ? result::ok : result::no_node;
            // Not in their order, which a client must not rely on.
            for (auto i = shown.nodes.size(); i != 0 && shown.directory; --i) {
                reply.children.push_back(shown.nodes[i - 1].name);
            }
            if (stranger && shown.directory) {
                reply.children.push_back(text("stranger"));
            }
            break;
        case operation::watch:
            if (at == shown.nodes.end()) {
                reply.code = result::no_node; // and sets no watch
                break;
            }
            reply.owner = at->owner;
            reply.czxid = at->czxid;
            // A watch ends with its connection.
            if (s.connected && !watches(s, reply.name)) {
                s.watches.insert(std::ranges::lower_bound(s.watches, reply.name), reply.name);
            }
            break;
        case operation::forget: forget(s, reply.name); return; // nobody looks at the answer
        default:
            reply.code = shown.directory ? result::ok : result::no_node;
            reply.replaceable = replaceable; // which changes only with the directory
            break;
        }
        reply.directory = shown.incarnation;
        if (s.connected) {
            reply.led = shown.led;
            s.messages.push_back(reply);
        }
    }

    // A change of a node reaches the client's server, which tells it to the client if it has a watch.
    static void tell(session& s, text_id name, bool deleted, text_id led)
    {
        if (s.behind) {
            s.behind->changes.push_back({name, deleted, led});
        } else if (watches(s, name)) {
            forget(s, name);
            s.messages.push_back({.is_event = true, .deleted = deleted, .name = name, .led = led});
        }
    }

    // A node has come or gone. No server lags in the walks whose clients watch the directory.
    void tell_of_children()
    {
        for (auto& s : sessions) {
            if (watches(s, 0)) {
                tell(s, 0, false, s.led);
            }
        }
    }

    void process_unheard(std::size_t client, boost::container::static_vector<request, 16>& from,
                         texts& text)
    {
        auto& s = sessions[client];
        const auto requests = std::exchange(s.requests, {from.front()});
        from.erase(from.begin());
        const bool connected = std::exchange(s.connected, false);
        process(client, text);
        s.connected = connected;
        s.requests = requests;
    }

    static bool watches(const session& s, text_id name)
    {
        return std::ranges::find(s.watches, name) != s.watches.end();
    }

    static void forget(session& s, text_id name)
    {
        const auto at = std::ranges::find(s.watches, name);
        if (at != s.watches.end()) {
            s.watches.erase(at);
        }
    }

    void note_leaders()
    {
        for (std::size_t i = 0; i != nodes.size(); ++i) {
            if (nodes[i].client != foreigner && !blocked(i)) {
                sessions[nodes[i].client].led = nodes[i].name;
            }
        }
    }
};

} // namespace colock::model
