#include "connect/four_letter_word.hpp"

#include "connect/awaiting.hpp"
#include "connect/look_up.hpp"
#include "program/text.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace colock::cli {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using boost::system::error_code;
using boost::system::system_error;

std::vector<endpoint> endpoints_of(std::string_view hosts)
{
    hosts = hosts.substr(0, hosts.find('/'));
    std::vector<endpoint> all;
    while (!hosts.empty()) {
        auto one = hosts.substr(0, hosts.find(','));
        hosts.remove_prefix(std::min(hosts.size(), one.size() + 1));
        constexpr std::string_view blanks = " \t"; // which the library takes around an entry
        one.remove_prefix(std::min(one.find_first_not_of(blanks), one.size()));
        if (one.empty()) {
            continue;
        }
        one = one.substr(0, one.find_last_not_of(blanks) + 1);
        const auto bracket = one.starts_with('[') ? one.find(']') : one.npos;
        const auto colon = one.find(':', bracket == one.npos ? 0 : bracket);
        auto host = one.substr(0, colon);
        if (bracket != one.npos) {
            host = one.substr(1, bracket - 1);
        }
        const auto port = colon == one.npos ? std::string_view{"2181"} : one.substr(colon + 1);
        all.push_back({std::string{host}, std::string{port}});
    }
    return all;
}

std::string shown(const endpoint& e)
{
    const bool v6 = e.host.find(':') != e.host.npos;
    return (v6 ? '[' + e.host + ']' : e.host) + ':' + e.port;
}

namespace {

asio::awaitable<std::string> ask(std::string host, std::string port, std::string question)
{
    const auto executor = co_await asio::this_coro::executor;
    look_up names{executor};
    tcp::socket socket{executor};
    std::string answer;
    error_code ec;
    const auto found = co_await names.addresses_of(host, port, ec);
    if (!ec) {
        co_await asio::async_connect(socket, found, asio::redirect_error(asio::use_awaitable, ec));
    }
    if (!ec) {
        const auto bytes = asio::buffer(question);
        co_await asio::async_write(socket, bytes, asio::redirect_error(asio::use_awaitable, ec));
    }
    if (!ec) {
        auto into = asio::dynamic_buffer(answer, longest_answer);
        co_await asio::async_read(socket, into, asio::redirect_error(asio::use_awaitable, ec));
        // A server that closes while something is unread resets the connection, behind the whole answer.
        if (ec == asio::error::eof || (ec == asio::error::connection_reset && !answer.empty())) {
            ec = {};
        }
    }
    if (ec) {
        throw system_error{ec, host + ':' + port};
    }
    co_return answer;
}

} // namespace

asio::awaitable<std::string> ask_server(std::string host, std::string port, std::string word,
                                        std::chrono::milliseconds limit)
{
    auto first = co_await first_of(ask(host, port, std::move(word)), pause(limit));
    if (first.index() == 1) {
        throw system_error{asio::error::timed_out, host + ':' + port};
    }
    co_return std::get<0>(std::move(first));
}

bool is_colock_serve(std::string_view srvr)
{
    return srvr.find("-colock-serve") != srvr.npos;
}

std::string words_on_colock_serve(const endpoint& at)
{
    return shown(at) + " is `colock serve`: for development and tests, it keeps nothing when it "
                       "ends; locks that matter need ZooKeeper";
}

std::string session_words(std::int64_t session)
{
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(session));
    return text;
}

std::optional<std::int64_t> session_in(std::string_view text)
{
    if (!text.starts_with("0x")) {
        return std::nullopt;
    }
    const auto bits = number_in<std::uint64_t>(text.substr(2), 16);
    return bits ? std::optional{static_cast<std::int64_t>(*bits)} : std::nullopt;
}

// "Sessions with Ephemerals (2):", then "0x10000fa1b350001:" with a line "\t/path" each.
std::map<std::int64_t, std::vector<std::string>> nodes_in_dump(std::string_view text)
{
    std::map<std::int64_t, std::vector<std::string>> all;
    const auto begin = text.find("Sessions with Ephemerals");
    if (begin == text.npos) {
        return all;
    }
    std::optional<std::int64_t> session;
    for_each_line(text.substr(begin), [&](std::string_view line) {
        if (line.starts_with("\t/")) {
            if (session) {
                all[*session].emplace_back(line.substr(1));
            }
        } else {
            session =
                line.ends_with(':') ? session_in(line.substr(0, line.size() - 1)) : std::nullopt;
        }
    });
    return all;
}

bool is_refusal(std::string_view answer)
{
    return answer.find("is not executed because it is not in the whitelist") != answer.npos;
}

asio::awaitable<std::string> ask_admin_server(std::string host, std::string port,
                                              std::string command, std::chrono::milliseconds limit)
{
    // HTTP 1.0: the answer ends with the connection, and comes in one piece.
    auto question = "GET /commands/" + command + " HTTP/1.0\r\nHost: " + host + "\r\n\r\n";
    auto answer = co_await ask_server(host, port, std::move(question), limit);
    const auto body = answer.find("\r\n\r\n");
    const auto status = answer.substr(0, answer.find('\r'));
    if (!status.starts_with("HTTP/") || status.find(" 200") == status.npos || body == answer.npos) {
        throw system_error{asio::error::connection_refused, host + ':' + port};
    }
    co_return answer.substr(body + 4);
}

} // namespace colock::cli
