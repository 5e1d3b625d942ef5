#include "proxy_stream.hpp"
#include "tcp_proxy.hpp"

#include <stdexcept>

#ifdef COLOCK_TEST_TLS
#include "tls_contexts.hpp"
#endif

namespace colock::test {

#ifdef COLOCK_TEST_TLS

proxy_tls::proxy_tls(certificate_authority const& authority, std::vector<std::string> names)
    : contexts_(std::make_shared<proxy_contexts>())
{
    contexts_->to_client = server_context(authority, issue_to_server(authority, std::move(names)));
    contexts_->to_server = client_context(authority, authority.issue({.name = "client"}));
    contexts_->to_server->set_verify_mode(asio::ssl::verify_peer);
}

proxy_tls proxy_tls::before_plain_server(certificate_authority const& authority)
{
    proxy_tls made;
    made.contexts_ = std::make_shared<proxy_contexts>();
    made.contexts_->to_client = server_context(authority, issue_to_server(authority));
    made.contexts_->understands = false;
    return made;
}

#else

proxy_tls proxy_tls::before_plain_server(certificate_authority const& authority)
{
    return proxy_tls(authority);
}

proxy_tls::proxy_tls(certificate_authority const&, std::vector<std::string>)
{
    throw std::runtime_error("proxy_tls: this build is without TLS");
}

#endif

} // namespace colock::test
