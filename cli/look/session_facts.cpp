#include "look/session_facts.hpp"

#include "connect/awaiting.hpp"
#include "connect/four_letter_word.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <utility>

namespace colock::cli {

namespace {

namespace asio = boost::asio;
using boost::system::system_error;
using connections = std::map<std::int64_t, session_connection>;
using nodes_of_sessions = std::map<std::int64_t, std::vector<std::string>>;

constexpr std::string_view setting = "4lw.commands.whitelist=srvr,conf,cons,dump";

// One server's answers, by whichever way it gives them.
class server_questions {
public:
    server_questions(const session_questions& how, const endpoint& at, session_facts& facts)
        : how_{how}, at_{at}, facts_{facts}
    {
    }

    asio::awaitable<std::optional<connections>> ask_connections()
    {
        auto text = co_await word("cons");
        if (text) {
            co_return connections_in_cons(*text);
        }
        text = co_await admin("connections");
        if (text) {
            co_return connections_in_json(*text);
        }
        co_return std::nullopt;
    }

    asio::awaitable<nodes_of_sessions> ask_nodes()
    {
        auto text = co_await word("dump");
        if (text) {
            co_return nodes_in_dump(*text);
        }
        text = co_await admin("dump");
        if (text) {
            co_return nodes_in_json(*text).value_or(nodes_of_sessions{});
        }
        co_return nodes_of_sessions{};
    }

    // Why there are no connections.
    [[nodiscard]] std::string fault() const
    {
        auto text = shown(at_) + " does not tell its connections: " + word_fault_;
        if (!admin_fault_.empty()) {
            text += ", and its AdminServer " + admin_fault_;
        }
        return text;
    }

private:
    asio::awaitable<std::optional<std::string>> word(std::string what)
    {
        if (how_.options.tls) {
            word_fault_ = "four-letter words are left out where servers speak TLS";
            co_return std::nullopt;
        }
        if (refuses_words_ == what) {
            co_return std::nullopt;
        }
        ++facts_.questions;
        std::optional<std::string> answer;
        try {
            answer = co_await ask_server(at_.host, at_.port, what, how_.limit);
        } catch (const system_error& e) {
            word_fault_ = "it cannot be asked (" + e.code().message() + ')';
            refuses_words_ = what;
        }
        if (answer && (is_refusal(*answer) || answer->empty())) {
            word_fault_ = "it does not answer the word " + what + " (" + std::string{setting} +
                          " in its zoo.cfg lets it)";
            refuses_words_ = what;
            answer.reset();
        }
        co_return answer;
    }

    asio::awaitable<std::optional<std::string>> admin(std::string what)
    {
        if (how_.admin_port.empty() || !admin_fault_.empty()) {
            co_return std::nullopt;
        }
        ++facts_.questions;
        std::optional<std::string> answer;
        try {
            answer = co_await ask_admin_server(at_.host, how_.admin_port, what, how_.limit);
        } catch (const system_error& e) {
            admin_fault_ = "at port " + how_.admin_port + " does not answer (" +
                           e.code().message() + "; --admin-port names another)";
        }
        co_return answer;
    }

    const session_questions& how_;
    const endpoint at_;
    session_facts& facts_;
    std::string refuses_words_;
    std::string word_fault_ = "it does not answer";
    std::string admin_fault_;
};

// The server has answered this connection just now, or some moments ago: how long ago all others were heard.
void measure_silence(connections& all, std::int64_t own)
{
    const auto mine = all.find(own);
    if (mine == all.end() || !mine->second.last_heard) {
        return;
    }
    auto now = *mine->second.last_heard;
    for (const auto& [session, c] : all) {
        now = std::max(now, c.last_heard.value_or(now));
    }
    for (auto& [session, c] : all) {
        if (c.last_heard) {
            c.silent = std::chrono::milliseconds{now - *c.last_heard};
        }
    }
}

bool has_one_of(const connections& all, const std::set<std::int64_t>& wanted)
{
    return std::ranges::any_of(wanted, [&](std::int64_t s) { return all.contains(s); });
}

// Asks once more, with a session on that very server.
asio::awaitable<std::optional<connections>> ask_beside(const session_questions& how,
                                                       const endpoint& at, server_questions& server)
{
    const auto executor = co_await asio::this_coro::executor;
    auto options = how.options;
    options.hosts = shown(at);
    options.connect_timeout = how.limit;
    options.log = {};
    client beside{executor, options};
    const auto [ec] = co_await beside.async_connect(no_throw);
    std::optional<connections> all;
    if (!ec) {
        all = co_await server.ask_connections();
        if (all) {
            measure_silence(*all, beside.session_id());
        }
        co_await beside.async_close(no_throw);
    }
    co_return all;
}

bool has_chroot(const client_options& options)
{
    return !options.chroot.empty() && options.chroot != "/";
}

// How many servers the ensemble has, as it says itself; nothing where it does not, which is before ZooKeeper 3.5.
asio::awaitable<std::optional<std::size_t>> size_of_ensemble(client& zk)
{
    const auto [ec, found] = co_await zk.async_get("/zookeeper/config", no_throw);
    if (ec == asio::error::operation_aborted) {
        throw system_error{ec};
    }
    co_return ec ? std::nullopt : std::optional{servers_in_config(found.data)};
}

// The node stands outside of any chroot.
asio::awaitable<std::optional<std::size_t>> size_of_ensemble_around(client& zk,
                                                                    const session_questions& how)
{
    std::optional<std::size_t> size;
    if (!has_chroot(how.options)) {
        size = co_await size_of_ensemble(zk);
        co_return size;
    }
    const auto executor = co_await asio::this_coro::executor;
    auto options = how.options;
    options.chroot.clear();
    options.connect_timeout = how.limit;
    options.log = {};
    client outside{executor, options};
    const auto [ec] = co_await outside.async_connect(no_throw);
    if (!ec) {
        size = co_await size_of_ensemble(outside);
        co_await outside.async_close(no_throw);
    }
    co_return size;
}

std::string note_on(const std::optional<std::size_t>& size, std::size_t different)
{
    const std::string unless = "; a session may be connected to another one: name all in --servers";
    return size ? "--servers names " + std::to_string(different) + " of the " +
                      std::to_string(*size) + " servers of this ensemble" + unless
                : "whether --servers names all servers of this ensemble cannot be known" + unless;
}

// Whether these are the connections of a server that has not answered before, by another name. A client may move meanwhile,
// so some of them may be known.
bool is_another(const connections& all, const connections& known)
{
    const auto seen =
        std::ranges::count_if(all, [&](const auto& each) { return known.contains(each.first); });
    return 2 * static_cast<std::size_t>(seen) <= all.size();
}

// As the client of this chroot knows it; nothing outside.
std::optional<std::string> within(const client_options& options, const std::string& path)
{
    const auto& chroot = options.chroot;
    if (!has_chroot(options)) {
        return path;
    }
    return path.starts_with(chroot + '/') ? std::optional{path.substr(chroot.size())}
                                          : std::nullopt;
}

} // namespace

asio::awaitable<session_facts> ask_sessions(client& zk, const session_questions& how,
                                            const std::set<std::int64_t>& wanted)
{
    session_facts facts;
    facts.complete = true;
    bool nodes_known = false;
    std::size_t different = 0;
    for (const auto& at : endpoints_of(how.options.hosts)) {
        ++facts.servers;
        server_questions server{how, at, facts};
        auto all = co_await server.ask_connections();
        if (!all) {
            facts.complete = false;
            facts.notes.push_back(server.fault());
            continue;
        }
        different += is_another(*all, facts.connected) ? 1 : 0;
        measure_silence(*all, zk.session_id());
        if (has_one_of(*all, wanted) && !all->contains(zk.session_id())) {
            auto again = co_await ask_beside(how, at, server);
            if (again) {
                all = std::move(again);
            }
        }
        for (auto& [session, c] : *all) {
            c.server = shown(at);
            facts.connected.insert_or_assign(session, std::move(c));
        }
        if (!nodes_known) { // every server knows all of them
            const auto nodes = co_await server.ask_nodes();
            nodes_known = !nodes.empty();
            for (const auto& [session, paths] : nodes) {
                for (const auto& path : paths) {
                    if (const auto own = within(how.options, path)) {
                        facts.nodes[session].push_back(*own);
                    }
                }
            }
        }
    }
    if (facts.complete) {
        const auto size = co_await size_of_ensemble_around(zk, how);
        facts.complete = size && different >= *size;
        const bool is_missing = std::ranges::any_of(
            wanted, [&](std::int64_t s) { return s != 0 && !facts.connected.contains(s); });
        if (!facts.complete && is_missing) {
            facts.notes.push_back(note_on(size, different));
        }
    }
    co_return facts;
}

} // namespace colock::cli
