#ifndef COLOCK_TEST_SUPPORT_PROXY_STREAM_HPP
#define COLOCK_TEST_SUPPORT_PROXY_STREAM_HPP

// What tcp_proxy reads from and writes to, on either side: a socket, and TLS above it when told.

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <memory>
#include <optional>
#include <utility>

#ifdef COLOCK_TEST_TLS
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#endif

namespace colock::test {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using error_code = boost::system::error_code;

inline void close_with_reset(tcp::socket& socket)
{
    error_code ignored;
    socket.set_option(asio::socket_base::linger(true, 0), ignored);
    socket.close(ignored);
}

#ifdef COLOCK_TEST_TLS
using proxy_context = asio::ssl::context;
#else
using proxy_context = void;
#endif

struct proxy_contexts {
    std::shared_ptr<proxy_context> to_client = {}; // none: plain TCP
    std::shared_ptr<proxy_context> to_server = {};
    bool understands = true; // what passes; else all is forwarded as it comes
};

// Whether the peer has sent the end of its stream; with TLS it need not have said so before.
inline bool is_end(error_code error)
{
#ifdef COLOCK_TEST_TLS
    if (error == asio::ssl::error::stream_truncated)
        return true;
#endif
    return error == asio::error::eof;
}

class proxy_stream {
public:
    explicit proxy_stream(tcp::socket socket) : socket_(std::move(socket)) {}
    proxy_stream(proxy_stream const&) = delete; // what is above the socket knows its address
    proxy_stream& operator=(proxy_stream const&) = delete;

    tcp::socket& socket() { return socket_; }

    // Speaks TLS from now on, as the server or the client that the context is for; without one it
    // stays with plain TCP, and the handler is called at once.
    template <class Handler>
    void shake_hands([[maybe_unused]] std::shared_ptr<proxy_context> const& context,
                     Handler handler)
    {
#ifdef COLOCK_TEST_TLS
        if (context) {
            tls_.emplace(socket_, *context);
            tls_->async_handshake(::SSL_is_server(tls_->native_handle())
                                      ? asio::ssl::stream_base::server
                                      : asio::ssl::stream_base::client,
                                  std::move(handler));
            return;
        }
#endif
        handler(error_code());
    }

    template <class Handler>
    void read_some(asio::mutable_buffer to, Handler handler)
    {
        visit([&](auto& stream) { stream.async_read_some(to, std::move(handler)); });
    }

    template <class Handler>
    void write(asio::const_buffer from, Handler handler)
    {
        visit([&](auto& stream) { asio::async_write(stream, from, std::move(handler)); });
    }

private:
    template <class F>
    void visit(F f)
    {
#ifdef COLOCK_TEST_TLS
        if (tls_) {
            f(*tls_);
            return;
        }
#endif
        f(socket_);
    }

    tcp::socket socket_;
#ifdef COLOCK_TEST_TLS
    std::optional<asio::ssl::stream<tcp::socket&>> tls_;
#endif
};

} // namespace colock::test

#endif
