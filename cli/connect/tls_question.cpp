#include "connect/tls_question.hpp"

#include "connect/awaiting.hpp"

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

void start_limit(const std::shared_ptr<tls_question>& q, std::chrono::milliseconds limit)
{
    q->limit.expires_after(limit);
    q->limit.async_wait([weak = std::weak_ptr{q}](const error_code& ec) {
        if (const auto self = weak.lock(); self && !ec) {
            error_code ignored;
            self->names.cancel();
            self->stream.lowest_layer().close(ignored);
        }
    });
}

asio::awaitable<error_code> shake_hands(tls_question& q, const endpoint& at,
                                        const std::string& name)
{
    error_code no_address;
    asio::ip::make_address(name, no_address);
    if (no_address) {
        SSL_set_tlsext_host_name(q.stream.native_handle(), name.c_str());
    }
    error_code unknown;
    const auto found = co_await q.names.addresses_of(at.host, at.port, unknown);
    if (unknown) {
        co_return unknown;
    }
    const auto [refused, to] =
        co_await asio::async_connect(q.stream.lowest_layer(), found, no_throw);
    if (refused) {
        co_return refused;
    }
    const auto [ec] = co_await q.stream.async_handshake(ssl::stream_base::client, no_throw);
    co_return ec;
}

namespace {

// The answer, as far as it has come. Servers may refuse to answer, or us.
asio::awaitable<std::string> ask(tls_question& q, std::string word)
{
    std::string answer;
    const auto [refused, sent] = co_await asio::async_write(q.stream, asio::buffer(word), no_throw);
    if (!refused) {
        co_await asio::async_read(q.stream, asio::dynamic_buffer(answer, longest_answer), no_throw);
    }
    co_return answer;
}

} // namespace

asio::awaitable<std::string> ask_as_client(const client_options& options, endpoint at,
                                           std::string word, std::chrono::milliseconds limit)
{
    if (!options.tls) {
        co_return co_await ask_server(at.host, at.port, word, limit);
    }
    const auto executor = co_await asio::this_coro::executor;
    const auto q = std::make_shared<tls_question>(executor, *options.tls);
    start_limit(q, limit);
    const auto name = options.tls_server_name.empty() ? at.host : options.tls_server_name;
    std::string answer;
    if (!co_await shake_hands(*q, at, name)) {
        answer = co_await ask(*q, word);
    }
    q->limit.cancel();
    co_return answer;
}

} // namespace colock::cli
