#include "connect/tls_question.hpp"

#include "connect/awaiting.hpp"
#include "connect/look_up.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>

#include <openssl/ssl.h>

namespace colock::cli {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using boost::system::error_code;

std::string certified_name(const client_options& options, const endpoint& at)
{
    auto name = at.host;
    if (name.ends_with('.')) {
        name.pop_back(); // it is for resolvers
    }
    return options.tls_server_name.empty() ? name : options.tls_server_name;
}

asio::awaitable<error_code> shake_hands(tls_stream& stream, const endpoint& at,
                                        const std::string& name)
{
    error_code no_address;
    asio::ip::make_address(name, no_address);
    if (no_address) {
        SSL_set_tlsext_host_name(stream.native_handle(), name.c_str());
    }
    look_up names{stream.get_executor()};
    error_code unknown;
    const auto found = co_await names.addresses_of(at.host, at.port, unknown);
    if (unknown) {
        co_return unknown;
    }
    const auto [refused, to] = co_await asio::async_connect(stream.lowest_layer(), found, no_throw);
    if (refused) {
        co_return refused;
    }
    const auto [ec] = co_await stream.async_handshake(ssl::stream_base::client, no_throw);
    co_return ec;
}

namespace {

// Servers may refuse to answer, or us.
asio::awaitable<void> ask(const client_options& options, endpoint at, std::string word,
                          std::string& answer)
{
    tls_stream stream{co_await asio::this_coro::executor, *options.tls};
    if (co_await shake_hands(stream, at, certified_name(options, at))) {
        co_return;
    }
    const auto [refused, sent] = co_await asio::async_write(stream, asio::buffer(word), no_throw);
    if (!refused) {
        co_await asio::async_read(stream, asio::dynamic_buffer(answer, longest_answer), no_throw);
    }
}

} // namespace

asio::awaitable<std::string> ask_as_client(const client_options& options, endpoint at,
                                           std::string word, std::chrono::milliseconds limit)
{
    if (!options.tls) {
        co_return co_await ask_server(at.host, at.port, word, limit);
    }
    std::string answer;
    co_await first_of(ask(options, at, word, answer), pause(limit));
    co_return answer;
}

} // namespace colock::cli
