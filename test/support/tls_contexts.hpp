#ifndef COLOCK_TEST_SUPPORT_TLS_CONTEXTS_HPP
#define COLOCK_TEST_SUPPORT_TLS_CONTEXTS_HPP

// What TLS needs on either side, of a test's certificates. For builds with TLS only.

#include "certificates.hpp"

#include <boost/asio/ssl/context.hpp>

#include <memory>
#include <optional>
#include <string>

namespace colock::test {

using tls_context = boost::asio::ssl::context;

/// For `client_options::tls`: trusts one authority, and shows a certificate if it has one.
inline std::shared_ptr<tls_context> client_context(std::string const& authority_file,
                                                   std::optional<certificate> const& who = {})
{
    auto made = std::make_shared<tls_context>(tls_context::tls_client);
    made->load_verify_file(authority_file);
    if (who) {
        made->use_certificate_chain_file(who->file);
        made->use_private_key_file(who->key, tls_context::pem);
    }
    return made;
}

inline std::shared_ptr<tls_context> client_context(certificate_authority const& authority,
                                                   std::optional<certificate> const& who = {})
{
    return client_context(authority.certificate_file(), who);
}

/// For a server, which wants a certificate of the authority from its clients.
inline std::shared_ptr<tls_context> server_context(certificate_authority const& authority,
                                                   certificate const& who)
{
    auto made = std::make_shared<tls_context>(tls_context::tls_server);
    made->load_verify_file(authority.certificate_file());
    made->set_verify_mode(boost::asio::ssl::verify_peer |
                          boost::asio::ssl::verify_fail_if_no_peer_cert);
    made->use_certificate_chain_file(who.file);
    made->use_private_key_file(who.key, tls_context::pem);
    // Without a name of their own, sessions of clients with certificates cannot be resumed.
    unsigned char const name[] = "colock";
    ::SSL_CTX_set_session_id_context(made->native_handle(), name, sizeof name - 1);
    return made;
}

} // namespace colock::test

#endif
