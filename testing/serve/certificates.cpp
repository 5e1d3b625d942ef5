#include "openssl.hpp"
#include "tls.hpp"

#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <utility>

namespace colock::testing {

namespace {

namespace fs = std::filesystem;

constexpr long an_hour = 3600;
constexpr long a_year = an_hour * 24 * 365;

struct issued {
    key_ptr key;
    certificate_ptr certificate;
};

void extend(X509* to, X509* issuer, int type, const char* value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
    const std::unique_ptr<X509_EXTENSION, freed_by<&X509_EXTENSION_free>> made{
        X509V3_EXT_conf_nid(nullptr, &context, type, value)};
    if (!made || X509_add_ext(to, made.get(), -1) != 1) {
        fail("cannot make a certificate");
    }
}

// `by`: null when nobody but itself has issued it.
issued issue(const char* name, const issued* by,
             std::initializer_list<std::pair<int, const char*>> extensions)
{
    issued made{key_ptr{EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")},
                certificate_ptr{X509_new()}};
    const std::unique_ptr<BIGNUM, freed_by<&BN_free>> serial{BN_new()};
    auto* const c = made.certificate.get();
    const auto* const text = reinterpret_cast<const unsigned char*>(name);
    if (!made.key || c == nullptr || !serial ||
        BN_rand(serial.get(), 120, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) != 1 ||
        BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(c)) == nullptr ||
        X509_set_version(c, 2) != 1 ||                                  // which is version 3
        X509_gmtime_adj(X509_getm_notBefore(c), -an_hour) == nullptr || // clocks differ
        X509_gmtime_adj(X509_getm_notAfter(c), a_year) == nullptr ||
        X509_NAME_add_entry_by_NID(X509_get_subject_name(c), NID_commonName, MBSTRING_UTF8, text,
                                   -1, -1, 0) != 1 ||
        X509_set_pubkey(c, made.key.get()) != 1) {
        fail("cannot make a certificate");
    }
    const auto& issuer = by != nullptr ? *by : made;
    X509_set_issuer_name(c, X509_get_subject_name(issuer.certificate.get()));
    extend(c, issuer.certificate.get(), NID_subject_key_identifier, "hash");
    extend(c, issuer.certificate.get(), NID_authority_key_identifier, "keyid");
    for (const auto& [type, value] : extensions) {
        extend(c, issuer.certificate.get(), type, value);
    }
    if (X509_sign(c, issuer.key.get(), EVP_sha256()) == 0) {
        fail("cannot sign a certificate");
    }
    return made;
}

// A file that was not there.
template <class Write>
void write_file(const fs::path& file, ::mode_t mode, Write write)
{
    const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    std::FILE* const to = descriptor < 0 ? nullptr : ::fdopen(descriptor, "w");
    if (to == nullptr) {
        throw std::runtime_error{"cannot write " + file.string() + ": " + std::strerror(errno)};
    }
    const bool written = write(to) == 1;
    if (std::fclose(to) != 0 || !written) {
        throw std::runtime_error{"cannot write " + file.string()};
    }
}

void write_both(const issued& what, const fs::path& stem)
{
    write_file(fs::path{stem} += ".key", S_IRUSR | S_IWUSR, [&](std::FILE* to) {
        return PEM_write_PrivateKey(to, what.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
    write_file(fs::path{stem} += ".pem", S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH,
               [&](std::FILE* to) { return PEM_write_X509(to, what.certificate.get()); });
}

} // namespace

bool make_certificates(const fs::path& directory)
{
    std::error_code ec;
    fs::create_directories(directory, ec);
    if (const bool empty = !ec && fs::is_empty(directory, ec); ec || !empty) {
        if (ec) {
            throw std::runtime_error{"cannot use the directory " + directory.string() + ": " +
                                     ec.message()};
        }
        return false;
    }
    ERR_clear_error();
    const auto authority = issue("colock serve", nullptr,
                                 {{NID_basic_constraints, "critical,CA:TRUE"},
                                  {NID_key_usage, "critical,keyCertSign,cRLSign"}});
    const auto server = issue("localhost", &authority,
                              {{NID_basic_constraints, "critical,CA:FALSE"},
                               {NID_key_usage, "critical,digitalSignature"},
                               {NID_ext_key_usage, "serverAuth"},
                               {NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1"}});
    const auto client = issue("client", &authority,
                              {{NID_basic_constraints, "critical,CA:FALSE"},
                               {NID_key_usage, "critical,digitalSignature"},
                               {NID_ext_key_usage, "clientAuth"}});
    write_both(authority, directory / "ca");
    write_both(server, directory / "server");
    write_both(client, directory / "client");
    return true;
}

} // namespace colock::testing
