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

constexpr std::string_view setting = "4lw.commands.whitelist=srvr,cons,dump";

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

// As the client of this chroot knows it; nothing outside.
std::optional<std::string> within(const std::string& chroot, const std::string& path)
{
    if (chroot.empty() || chroot == "/") {
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
    for (const auto& at : endpoints_of(how.options.hosts)) {
        ++facts.servers;
        server_questions server{how, at, facts};
        auto all = co_await server.ask_connections();
        if (!all) {
            facts.complete = false;
            facts.notes.push_back(server.fault());
            continue;
        }
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
                    if (const auto own = within(how.options.chroot, path)) {
                        facts.nodes[session].push_back(*own);
                    }
                }
            }
        }
    }
    if (facts.servers == 0) {
        facts.complete = false;
    }
    co_return facts;
}

} // namespace colock::cli
