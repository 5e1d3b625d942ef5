// A connection to a server over TLS, for a question outside of any session. Not where colock was built without TLS.
#pragma once

#include "connect/four_letter_word.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/system/error_code.hpp>

#include <string>

namespace colock::cli {

// Lets every server in: nothing is sent that anybody could not send.
using tls_stream = boost::asio::ssl::stream<boost::asio::ip::tcp::socket>;

// What the server's certificate has to be for.
[[nodiscard]] std::string certified_name(const client_options& options, const endpoint& at);

// Connects, and tells the server by which name the client knows it.
[[nodiscard]] boost::asio::awaitable<boost::system::error_code>
shake_hands(tls_stream& stream, const endpoint& at, const std::string& name);

} // namespace colock::cli
