#include "tls_question.hpp"

#include <stdexcept>

#ifdef COLOCK_TEST_TLS
#include "tls_contexts.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#endif

namespace colock::test {

#ifdef COLOCK_TEST_TLS

namespace asio = boost::asio;

struct tls_questioner::impl {
    std::shared_ptr<tls_context> context;
};

tls_questioner::tls_questioner(certificate_authority const& authority)
    : impl_(std::make_unique<impl>(
          impl{client_context(authority, authority.issue({.name = "operator"}))}))
{
    // Also of a server whose certificate is not what it should be.
    impl_->context->set_verify_mode(asio::ssl::verify_none);
}

std::string tls_questioner::ask(host_and_port const& where, std::string_view words,
                                time_limit until) const
{
    asio::io_context io;
    asio::ssl::stream<asio::ip::tcp::socket> stream(io, *impl_->context);
    std::string answer;
    // Each step begins when the one before has succeeded.
    auto const step = [&](auto&& begin) {
        std::optional<boost::system::error_code> result;
        begin([&](boost::system::error_code error, auto&&...) { result = error; });
        io.restart();
        while (!result && io.run_one_until(until) != 0) {
        }
        if (!result)
            throw std::runtime_error(where.text() + ": no answer within the time allowed");
        return *result;
    };
    auto const must = [&](char const* what, boost::system::error_code error) {
        if (error)
            throw std::runtime_error(where.text() + ": " + what + ": " + error.message());
    };
    must("connect", step([&](auto done) {
             stream.lowest_layer().async_connect({asio::ip::make_address(where.host), where.port},
                                                 done);
         }));
    must("TLS",
         step([&](auto done) { stream.async_handshake(asio::ssl::stream_base::client, done); }));
    must("send", step([&](auto done) { asio::async_write(stream, asio::buffer(words), done); }));
    auto const end =
        step([&](auto done) { asio::async_read(stream, asio::dynamic_buffer(answer), done); });
    if (end != asio::error::eof && end != asio::ssl::error::stream_truncated)
        must("receive", end);
    return answer;
}

#else

struct tls_questioner::impl {};

tls_questioner::tls_questioner(certificate_authority const&)
{
    throw std::runtime_error("tls_questioner: this build is without TLS");
}

std::string tls_questioner::ask(host_and_port const&, std::string_view, time_limit) const
{
    return {};
}

#endif

tls_questioner::~tls_questioner() = default;

} // namespace colock::test
