#include "connect/tls_context.hpp"

#include "program/failure.hpp"

#include <boost/asio/ssl/context.hpp>

#include <array>
#include <cstdlib>
#include <utility>

namespace colock::cli {

namespace {

namespace ssl = boost::asio::ssl;

tls_verification verification(const std::string& name)
{
    static constexpr std::array names{std::pair{"full", tls_verification::full},
                                      std::pair{"any-name", tls_verification::any_name},
                                      std::pair{"off", tls_verification::off}};
    for (const auto& [known, value] : names) {
        if (name == known) {
            return value;
        }
    }
    throw failure{usage, "--tls-verify is full, any-name or off, not \"" + name + '"'};
}

void check(const boost::system::error_code& ec, const std::string& option, const std::string& file)
{
    if (ec) {
        throw failure{usage, option + ": cannot use " + file + ": " + ec.message() +
                                 "; it has to be a readable file in PEM format"};
    }
}

} // namespace

void add_tls(client_options& to, const server_options& options)
{
    const auto& o = options;
    const bool wanted = o.tls || !o.tls_ca.empty() || !o.tls_cert.empty() || !o.tls_key.empty();
    to.tls_verify = verification(o.tls_verify);
    to.tls_server_name = o.tls_server_name;
    if (!wanted) {
        if (!o.tls_server_name.empty() || o.tls_verify != "full") {
            throw failure{usage, "--tls-server-name and --tls-verify need --tls or --tls-ca"};
        }
        return;
    }
    if (o.tls_cert.empty() != o.tls_key.empty()) {
        throw failure{usage, "--tls-cert and --tls-key belong together; give both, or neither"};
    }

    boost::system::error_code ec;
    const auto context = std::make_shared<ssl::context>(ssl::context::tls_client);
    if (o.tls_ca.empty()) {
        context->set_default_verify_paths(ec);
        check(ec, "--tls", "the authorities of the system");
    } else {
        context->load_verify_file(o.tls_ca, ec);
        check(ec, "--tls-ca", o.tls_ca);
    }
    if (!o.tls_cert.empty()) {
        context->use_certificate_chain_file(o.tls_cert, ec);
        check(ec, "--tls-cert", o.tls_cert);
        // Without a password OpenSSL would ask for one on the terminal.
        const char* const password = std::getenv("COLOCK_TLS_KEY_PASSWORD");
        bool is_encrypted = false;
        context->set_password_callback([&](std::size_t, ssl::context::password_purpose) {
            is_encrypted = true;
            return std::string{password ? password : ""};
        });
        context->use_private_key_file(o.tls_key, ssl::context::pem, ec);
        if (ec && is_encrypted) {
            throw failure{usage, "--tls-key: " + o.tls_key + " is encrypted, and " +
                                     (password ? "COLOCK_TLS_KEY_PASSWORD is not its password"
                                               : "COLOCK_TLS_KEY_PASSWORD is not set; it has to "
                                                 "hold the key's password")};
        }
        context->set_password_callback(
            [](std::size_t, ssl::context::password_purpose) { return std::string{}; });
        check(ec, "--tls-key", o.tls_key);
    }
    to.tls = context;
}

} // namespace colock::cli
