#include "zk/tls_session.hpp"

#include <colock/log.hpp>

#include "zk/freed_by.hpp"
#include "zk/secret.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/context.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <new>
#include <utility>

namespace colock::zk {

namespace {

namespace asio = boost::asio;

void free_names(GENERAL_NAMES* names) noexcept
{
    GENERAL_NAMES_free(names);
}
using certificate_ptr = std::unique_ptr<X509, freed_by<&X509_free>>;
using names_ptr = std::unique_ptr<GENERAL_NAMES, freed_by<&free_names>>;

bool is_address(const std::string& name)
{
    boost::system::error_code not_an_address;
    asio::ip::make_address(name, not_an_address);
    return !not_an_address;
}

// Strangers have written the texts of a certificate.
constexpr std::size_t most_of_text = 200;

std::string text_of(const ASN1_STRING* s)
{
    return printable({reinterpret_cast<const char*>(ASN1_STRING_get0_data(s)),
                      static_cast<std::size_t>(std::max(ASN1_STRING_length(s), 0))},
                     most_of_text);
}

// The names and addresses that a certificate is for.
std::string names_of(X509* certificate)
{
    std::string all;
    const names_ptr names{static_cast<GENERAL_NAMES*>(
        X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr))};
    const int count = names ? sk_GENERAL_NAME_num(names.get()) : 0;
    for (int i = 0; i < count; ++i) {
        const auto* name = sk_GENERAL_NAME_value(names.get(), i);
        std::string text;
        if (name->type == GEN_DNS) {
            text = text_of(name->d.dNSName);
        } else if (name->type == GEN_IPADD) {
            const auto* octets = ASN1_STRING_get0_data(name->d.iPAddress);
            const auto size = ASN1_STRING_length(name->d.iPAddress);
            asio::ip::address_v4::bytes_type v4{};
            asio::ip::address_v6::bytes_type v6{};
            if (size == static_cast<int>(v4.size())) {
                std::copy_n(octets, v4.size(), v4.begin());
                text = asio::ip::address_v4{v4}.to_string();
            } else if (size == static_cast<int>(v6.size())) {
                std::copy_n(octets, v6.size(), v6.begin());
                text = asio::ip::address_v6{v6}.to_string();
            }
        }
        if (!text.empty()) {
            all += (all.empty() ? "" : ", ") + text;
        }
    }
    return all.empty() ? "no name at all" : all;
}

std::string subject_of(X509* certificate)
{
    char text[256] = "";
    X509_NAME_oneline(X509_get_subject_name(certificate), text, sizeof text);
    return printable(text, most_of_text);
}

} // namespace

struct tls_session::parts {
    explicit parts(asio::ssl::context& context)
        : ssl{SSL_new(context.native_handle())}, in{BIO_new(BIO_s_mem())}, out{BIO_new(BIO_s_mem())}
    {
        if (!ssl || in == nullptr || out == nullptr) {
            BIO_free(in);
            BIO_free(out);
            throw std::bad_alloc{};
        }
        BIO_set_mem_eof_return(in, -1); // when it is empty, more may come
        SSL_set_bio(ssl.get(), in, out);
    }

    // Messages that are neither text nor a handshake cost time and answers. Servers send next to none.
    static void count(int, int, int type, const void*, std::size_t, SSL*, void* session)
    {
        auto& self = *static_cast<tls_session*>(session);
        if (self.open_ && (type == SSL3_RT_HANDSHAKE || type == SSL3_RT_ALERT ||
                           type == SSL3_RT_CHANGE_CIPHER_SPEC)) {
            ++self.messages_;
        }
    }

    std::unique_ptr<SSL, freed_by<&SSL_free>> ssl; // owns the others
    BIO* in;
    BIO* out;
};

tls_session::tls_session(const tls_terms& terms)
    : terms_{terms}, parts_{std::make_unique<parts>(*terms.context)}
{
    auto* ssl = parts_->ssl.get();
    SSL_set_connect_state(ssl);
    // A context of Asio verifies nobody by default. Its own callback, if there is one, is called all the same.
    SSL_set_verify(ssl, terms.checks_certificate ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    // No renegotiation in the midst of writes. And plain text that was read is overwritten.
    SSL_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_CLEANSE_PLAINTEXT);
    // Modes of the context that do not go together with bytes in memory.
    SSL_set_read_ahead(ssl, 0);
    SSL_clear_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE);
    SSL_set_mode(ssl, SSL_MODE_AUTO_RETRY | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_set_msg_callback(ssl, &parts::count);
    SSL_set_msg_callback_arg(ssl, this);
    const auto name = std::ranges::find_if_not(terms.names, &is_address);
    if (name != terms.names.end()) {
        SSL_set_tlsext_host_name(ssl, name->c_str());
    }
    ERR_clear_error();
}

tls_session::~tls_session()
{
    wipe(held_);
}

void tls_session::feed(std::string_view cipher_text)
{
    if (!over_ && BIO_write(parts_->in, cipher_text.data(), static_cast<int>(cipher_text.size())) !=
                      static_cast<int>(cipher_text.size())) {
        fail("there is no memory left");
    }
}

std::string_view tls_session::unsent() const noexcept
{
    char* data = nullptr;
    const long size = BIO_get_mem_data(parts_->out, &data);
    return size > 0 ? std::string_view{data, static_cast<std::size_t>(size)} : std::string_view{};
}

// To read from a memory buffer takes its front away, and does not move the rest.
void tls_session::sent(std::size_t count) noexcept
{
    char dropped[4096];
    while (count != 0) {
        const int size = static_cast<int>(std::min(count, sizeof dropped));
        const int read = BIO_read(parts_->out, dropped, size);
        if (read <= 0) {
            return;
        }
        count -= static_cast<std::size_t>(read);
    }
}

void tls_session::fail(std::string why)
{
    over_ = true;
    if (fault_.empty()) {
        fault_ = std::move(why);
    }
}

// What OpenSSL's queue of errors says.
void tls_session::fail_by_library()
{
    auto* ssl = parts_->ssl.get();
    const auto code = ERR_peek_last_error();
    const int reason = ERR_GET_REASON(code);
    const char* text = ERR_reason_error_string(code);
    const std::string words = text != nullptr ? text : "no reason is given";
    if (const long verified = SSL_get_verify_result(ssl);
        !open_ && terms_.checks_certificate && verified != X509_V_OK) {
        const certificate_ptr theirs{SSL_get1_peer_certificate(ssl)};
        std::string why = "the server's certificate is refused: ";
        why += X509_verify_cert_error_string(verified);
        fail(why + (theirs ? " (" + subject_of(theirs.get()) + ')' : ""));
    } else if (reason == SSL_R_WRONG_VERSION_NUMBER && !open_) {
        fail("the server does not speak TLS at this port (" + words + ')');
    } else if (ERR_GET_LIB(code) == ERR_LIB_SSL && reason > SSL_AD_REASON_OFFSET &&
               reason <= SSL_AD_REASON_OFFSET + 255) {
        // An alert. With TLS 1.3 a server refuses a certificate after the end of the handshake.
        const int alert = reason - SSL_AD_REASON_OFFSET;
        const bool of_certificate =
            alert == SSL_AD_BAD_CERTIFICATE || alert == SSL_AD_UNSUPPORTED_CERTIFICATE ||
            alert == SSL_AD_CERTIFICATE_REVOKED || alert == SSL_AD_CERTIFICATE_EXPIRED ||
            alert == SSL_AD_CERTIFICATE_UNKNOWN || alert == SSL_AD_UNKNOWN_CA ||
            alert == SSL_AD_ACCESS_DENIED || alert == SSL_AD_CERTIFICATE_REQUIRED ||
            // Of many things; but if it was asked for a certificate, it is that.
            (alert == SSL_AD_HANDSHAKE_FAILURE && SSL_get0_peer_CA_list(ssl) != nullptr);
        if (of_certificate) {
            fail((SSL_get_certificate(ssl) == nullptr
                      ? "the server asks for a client certificate, and the context has none ("
                      : "the server refuses the client's certificate (") +
                 words + ')');
        } else {
            fail("the server ends TLS (" + words + ')');
        }
    } else {
        fail(words);
    }
    ERR_clear_error(); // the program's own use of OpenSSL would find them
}

tls_session::progress tls_session::shake_hands()
{
    if (over_) {
        return progress::failed;
    }
    auto* ssl = parts_->ssl.get();
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl);
    if (done == 1) {
        if (!check_name()) {
            return progress::failed;
        }
        open_ = true;
        return progress::complete;
    }
    const int error = SSL_get_error(ssl, done);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
        return progress::waits;
    }
    fail_by_library();
    return progress::failed;
}

// Nothing was sent yet but the handshake.
bool tls_session::check_name()
{
    if (!terms_.checks_certificate) {
        return true;
    }
    const certificate_ptr theirs{SSL_get1_peer_certificate(parts_->ssl.get())};
    if (!theirs) {
        fail("the server has no certificate");
        return false;
    }
    if (!terms_.checks_name) {
        return true;
    }
    constexpr unsigned flags =
        X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;
    std::string wanted;
    for (const auto& name : terms_.names) {
        // A certificate knows no scope of an IPv6 address. A name with a dot in front would stand for all names below it.
        const auto address = name.substr(0, name.find('%'));
        const bool matches =
            is_address(name)
                ? X509_check_ip_asc(theirs.get(), address.c_str(), 0) == 1
                : !name.starts_with('.') &&
                      X509_check_host(theirs.get(), name.data(), name.size(), flags, nullptr) == 1;
        if (matches) {
            return true;
        }
        wanted += (wanted.empty() ? "" : " or ") + name;
    }
    ERR_clear_error();
    fail("the server's certificate is for " + names_of(theirs.get()) + ", not for " + wanted);
    return false;
}

std::size_t tls_session::read(char* into, std::size_t size)
{
    if (over_) {
        return 0;
    }
    auto* ssl = parts_->ssl.get();
    ERR_clear_error();
    const int count = SSL_read(ssl, into, static_cast<int>(std::min<std::size_t>(size, 1 << 20)));
    const int error = SSL_get_error(ssl, count);
    read_ += static_cast<std::size_t>(std::max(count, 0));
    if (messages_ > 64 + read_ / 1024) {
        fail("the server sends messages of TLS without end");
        return 0;
    }
    if (count > 0) {
        return static_cast<std::size_t>(count);
    }
    switch (error) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: break;
    case SSL_ERROR_ZERO_RETURN: over_ = true; break;
    default: fail_by_library();
    }
    return 0;
}

// OpenSSL takes the beginning of a record in at once. So a record that came in part is not left in the buffer here.
bool tls_session::has_unread() const noexcept
{
    return !over_ && (SSL_pending(parts_->ssl.get()) > 0 || BIO_ctrl_pending(parts_->in) > 0);
}

bool tls_session::write(std::string_view plain_text)
{
    if (over_) {
        return false;
    }
    if (!held_.empty()) {
        held_ += plain_text;
        plain_text = held_;
    }
    if (plain_text.empty()) {
        return true;
    }
    auto* ssl = parts_->ssl.get();
    ERR_clear_error();
    const int size = static_cast<int>(plain_text.size());
    const int written = SSL_write(ssl, plain_text.data(), size);
    if (written == size) {
        wipe(held_);
        return true;
    }
    if (const int error = SSL_get_error(ssl, written);
        error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
        if (held_.empty()) {
            held_ = plain_text;
        }
        return true;
    }
    fail_by_library();
    return false;
}

} // namespace colock::zk
