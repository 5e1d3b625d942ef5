#include "guard/tls_material.hpp"

#include "zk/frame_fields.hpp"
#include "zk/freed_by.hpp"

#include <boost/asio/ssl/context.hpp>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

namespace colock::guard {

namespace asio = boost::asio;

namespace {

using zk::append;
using zk::freed_by;
using bio_ptr = std::unique_ptr<BIO, freed_by<&BIO_free_all>>;
using certificate_ptr = std::unique_ptr<X509, freed_by<&X509_free>>;
using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<&EVP_PKEY_free>>;

// In memory that is overwritten when it is freed.
bio_ptr new_text()
{
    return bio_ptr{BIO_new(BIO_s_secmem())};
}
bio_ptr text_of(std::string_view pem)
{
    return bio_ptr{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
}
std::string_view written(const bio_ptr& to)
{
    char* text = nullptr;
    const auto size = BIO_get_mem_data(to.get(), &text);
    return {text, static_cast<std::size_t>(size)};
}

std::string ciphers_of(SSL_CTX* context, bool of_1_3)
{
    std::string all;
    const auto* const ciphers = SSL_CTX_get_ciphers(context);
    for (int i = 0; i < sk_SSL_CIPHER_num(ciphers); ++i) {
        const auto* const each = sk_SSL_CIPHER_value(ciphers, i);
        if ((SSL_CIPHER_get_protocol_id(each) >> 8 == 0x13) == of_1_3) {
            all += (all.empty() ? "" : ":") + std::string{SSL_CIPHER_get_name(each)};
        }
    }
    return all;
}

} // namespace

tls_material material_of(asio::ssl::context& of)
{
    tls_material m;
    SSL_CTX* const context = of.native_handle();
    if (SSL_CTX_get_verify_callback(context) != nullptr ||
        SSL_CTX_get_client_cert_cb(context) != nullptr) {
        m.fault = "it has callbacks of the program";
        return m;
    }
    auto* const certificate = SSL_CTX_get0_certificate(context);
    auto* const key = SSL_CTX_get0_privatekey(context);
    const auto chain = new_text(), secret = new_text(), authorities = new_text();
    if (certificate != nullptr) {
        STACK_OF(X509)* others = nullptr;
        SSL_CTX_get_extra_chain_certs(context, &others);
        PEM_write_bio_X509(chain.get(), certificate);
        for (int i = 0; others != nullptr && i < sk_X509_num(others); ++i) {
            PEM_write_bio_X509(chain.get(), sk_X509_value(others, i));
        }
        if (key == nullptr || PEM_write_bio_PrivateKey(secret.get(), key, nullptr, nullptr, 0,
                                                       nullptr, nullptr) != 1) {
            ERR_clear_error();
            m.fault = "its private key cannot be read from where it is";
            return m;
        }
    }
    auto* const store = SSL_CTX_get_cert_store(context);
    X509_STORE_lock(
        store); // a handshake of another client may add what it has found in a directory
    const auto* const known = X509_STORE_get0_objects(store);
    for (int i = 0; i < sk_X509_OBJECT_num(known); ++i) {
        auto* const each = sk_X509_OBJECT_value(known, i);
        if (auto* const authority = X509_OBJECT_get0_X509(each)) {
            PEM_write_bio_X509(authorities.get(), authority);
        } else if (auto* const revoked = X509_OBJECT_get0_X509_CRL(each)) {
            PEM_write_bio_X509_CRL(authorities.get(), revoked);
        }
    }
    X509_STORE_unlock(store);
    m.text.reserve(4096 + written(chain).size() + written(secret).size() +
                   written(authorities).size()); // one that grows would leave copies of the key
    append(m.text, static_cast<std::int32_t>(SSL_CTX_get_min_proto_version(context)));
    append(m.text, static_cast<std::int32_t>(SSL_CTX_get_max_proto_version(context)));
    append(m.text, std::uint64_t{SSL_CTX_get_options(context)});
    append(m.text, std::int32_t{SSL_CTX_get_security_level(context)});
    append(m.text, ciphers_of(context, false));
    append(m.text, ciphers_of(context, true));
    // Of the context, and of its store: OpenSSL heeds both.
    append(m.text, std::uint64_t{X509_VERIFY_PARAM_get_flags(SSL_CTX_get0_param(context)) |
                                 X509_VERIFY_PARAM_get_flags(X509_STORE_get0_param(store))});
    const auto depth = SSL_CTX_get_verify_depth(context);
    append(m.text,
           std::int32_t{depth >= 0 ? depth
                                   : X509_VERIFY_PARAM_get_depth(X509_STORE_get0_param(store))});
    append(m.text, written(chain));
    append(m.text, written(secret));
    append(m.text, written(authorities));
    return m;
}

std::shared_ptr<asio::ssl::context> context_of_material(const std::string& text)
{
    zk::frame_fields from{text};
    auto made = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
    SSL_CTX* const context = made->native_handle();
    SSL_CTX_set_min_proto_version(context, from.integer());
    SSL_CTX_set_max_proto_version(context, from.integer());
    SSL_CTX_set_options(context, static_cast<std::uint64_t>(from.longer()));
    SSL_CTX_set_security_level(context, from.integer());
    SSL_CTX_set_cipher_list(context, std::string{from.counted()}.c_str());
    SSL_CTX_set_ciphersuites(context, std::string{from.counted()}.c_str());
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context),
                                static_cast<unsigned long>(from.longer()));
    if (const auto depth = from.integer(); depth >= 0) { // else it has no limit of its own
        SSL_CTX_set_verify_depth(context, depth);
    }
    const auto chain = from.counted();
    const auto secret = from.counted();
    const auto authorities = from.counted();
    if (from.cut() || from.left() != 0) {
        return nullptr;
    }
    if (!chain.empty()) {
        const auto certificates = text_of(chain);
        const certificate_ptr own{PEM_read_bio_X509(certificates.get(), nullptr, nullptr, nullptr)};
        SSL_CTX_use_certificate(context, own.get());
        while (auto* const next =
                   PEM_read_bio_X509(certificates.get(), nullptr, nullptr, nullptr)) {
            SSL_CTX_add_extra_chain_cert(context, next); // owns it
        }
        const key_ptr key{
            PEM_read_bio_PrivateKey(text_of(secret).get(), nullptr, nullptr, nullptr)};
        SSL_CTX_use_PrivateKey(context, key.get());
    }
    auto* const store = SSL_CTX_get_cert_store(context);
    const auto trusted = text_of(authorities);
    if (authorities.empty()) {
        SSL_CTX_set_default_verify_paths(
            context); // nothing else is known of a directory that is searched later
    }
    auto* const all = PEM_X509_INFO_read_bio(trusted.get(), nullptr, nullptr, nullptr);
    for (int i = 0; i < sk_X509_INFO_num(all); ++i) {
        const auto* const each = sk_X509_INFO_value(all, i);
        if (each->x509 != nullptr) {
            X509_STORE_add_cert(store, each->x509);
        }
        if (each->crl != nullptr) {
            X509_STORE_add_crl(store, each->crl);
        }
    }
    sk_X509_INFO_pop_free(all, X509_INFO_free);
    ERR_clear_error();
    return made;
}

} // namespace colock::guard
