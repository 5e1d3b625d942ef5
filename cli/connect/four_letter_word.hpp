// What a server says of itself, outside of any session: ZooKeeper's four-letter words, and the same questions to its
// AdminServer.
#pragma once

#include <colock/client_options.hpp>

#include <boost/asio/awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::cli {

// A server's address, as client_options::hosts has it, an IPv6 address without its brackets.
struct endpoint {
    std::string host;
    std::string port;

    bool operator==(const endpoint&) const = default;
};

// The servers of "host:port,[::1]:2182,other/chroot". A port that is left out is 2181. Does not check the text: the client
// does.
[[nodiscard]] std::vector<endpoint> endpoints_of(std::string_view hosts);

// As people write it: "host:port", "[::1]:2181".
[[nodiscard]] std::string shown(const endpoint& e);

// No server says that much: some 200 bytes for each of its clients.
inline constexpr std::size_t longest_answer = 64 << 20;

// Sends the word ("srvr", "cons", ...) and reads the whole answer, in plain TCP. Throws boost::system::system_error:
// asio::error::timed_out when there is no whole answer within the limit.
[[nodiscard]] boost::asio::awaitable<std::string>
ask_server(std::string host, std::string port, std::string word, std::chrono::milliseconds limit);

// The same by the way that a client takes. Where the options have a TLS context it throws nothing: the answer is what has
// come until the limit, and may be empty.
[[nodiscard]] boost::asio::awaitable<std::string> ask_as_client(const client_options& options,
                                                                endpoint at, std::string word,
                                                                std::chrono::milliseconds limit);

// "0x10000fa1b350000": a session, as servers write it.
[[nodiscard]] std::string session_words(std::int64_t session);
[[nodiscard]] std::optional<std::int64_t> session_in(std::string_view text);

// Of the answer to `dump`: the ephemeral nodes of each session.
[[nodiscard]] std::map<std::int64_t, std::vector<std::string>> nodes_in_dump(std::string_view text);

// Of an answer: each line without its end.
template <class Each>
void for_each_line(std::string_view text, Each each)
{
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        each(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
    }
}

// Whether the answer says that the server does not answer this word: 4lw.commands.whitelist leaves it out.
[[nodiscard]] bool is_refusal(std::string_view answer);

// Whether the answer to `srvr` is that of `colock serve`.
[[nodiscard]] bool is_colock_serve(std::string_view srvr);
// What to say then: of the server at this address.
[[nodiscard]] std::string words_on_colock_serve(const endpoint& at);

// GET http://host:port/commands/<command>: gives the body of the answer, which is JSON. Throws as ask_server does;
// asio::error::connection_refused also when the answer is no HTTP 200.
[[nodiscard]] boost::asio::awaitable<std::string> ask_admin_server(std::string host,
                                                                   std::string port,
                                                                   std::string command,
                                                                   std::chrono::milliseconds limit);

} // namespace colock::cli
