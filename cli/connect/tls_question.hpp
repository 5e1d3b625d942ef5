// A question to a server over TLS, outside of any session. Not where colock was built without TLS.
#pragma once

#include "connect/four_letter_word.hpp"
#include "connect/look_up.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace colock::cli {

// The stream lets every server in: nothing is sent that anybody could not send.
struct tls_question {
    tls_question(const boost::asio::any_io_executor& on, boost::asio::ssl::context& context)
        : stream{on, context}, names{on}, limit{on}
    {
    }

    boost::asio::ssl::stream<boost::asio::ip::tcp::socket> stream;
    look_up names;
    boost::asio::steady_timer limit;
};

// The limit of all that follows, after which the socket is closed.
void start_limit(const std::shared_ptr<tls_question>& q, std::chrono::milliseconds limit);

// Connects, and tells the server by which name the client knows it.
[[nodiscard]] boost::asio::awaitable<boost::system::error_code>
shake_hands(tls_question& q, const endpoint& at, const std::string& name);

} // namespace colock::cli
