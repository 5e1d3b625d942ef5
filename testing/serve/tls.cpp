#include "tls.hpp"

#include "openssl.hpp"
#include "subject_name.hpp"

#include <filesystem>
#include <new>
#include <stdexcept>
#include <utility>

namespace colock::testing {

namespace {

using context_ptr = std::shared_ptr<SSL_CTX>;

class tls final : public wrapping {
public:
    explicit tls(const context_ptr& context)
        : ssl_{SSL_new(context.get())}, in_{BIO_new(BIO_s_mem())}, out_{BIO_new(BIO_s_mem())}
    {
        if (!ssl_ || in_ == nullptr || out_ == nullptr) {
            BIO_free(in_);
            BIO_free(out_);
            throw std::bad_alloc{};
        }
        BIO_set_mem_eof_return(in_, -1); // when it is empty, more may come
        SSL_set_bio(ssl_.get(), in_, out_);
        SSL_set_accept_state(ssl_.get());
    }

    std::string unwrap(std::string_view bytes) override
    {
        std::string said;
        if (!std::exchange(begun_, true) && !bytes.starts_with(handshake)) {
            over_ = true; // plain text, of which OpenSSL could wait for more
        }
        if (over_) {
            return said;
        }
        ERR_clear_error();
        if (BIO_write(in_, bytes.data(), static_cast<int>(bytes.size())) !=
            static_cast<int>(bytes.size())) {
            over_ = failed_ = true;
            return said;
        }
        char piece[16'384];
        int count = 0;
        while ((count = SSL_read(ssl_.get(), piece, sizeof piece)) > 0) {
            said.append(piece, static_cast<std::size_t>(count));
        }
        judge(count);
        if (is_open() && !subject_) {
            const certificate_ptr shown{SSL_get1_peer_certificate(ssl_.get())};
            if (shown) {
                subject_ = name_of(X509_get_subject_name(shown.get()));
            }
        }
        return said;
    }

    bool is_over() const noexcept override { return over_; }
    const std::optional<std::string>& subject() const noexcept override { return subject_; }

    std::string wrap(std::string_view said, bool last) override
    {
        ERR_clear_error();
        if (is_open() && !said.empty()) {
            const auto size = static_cast<int>(said.size());
            if (const int written = SSL_write(ssl_.get(), said.data(), size); written != size) {
                over_ = failed_ = true;
            }
        }
        if (is_open() && last && !std::exchange(ended_, true)) {
            SSL_shutdown(ssl_.get());
        }
        ERR_clear_error();
        std::string bytes(unsent(), '\0');
        if (!bytes.empty()) {
            BIO_read(out_, bytes.data(), static_cast<int>(bytes.size()));
        }
        return bytes;
    }

    std::size_t unsent() const noexcept override { return BIO_ctrl_pending(out_); }

private:
    static constexpr std::string_view handshake{"\x16"};

    [[nodiscard]] bool is_open() const noexcept
    {
        return !failed_ && SSL_is_init_finished(ssl_.get()) == 1;
    }

    void judge(int result)
    {
        switch (SSL_get_error(ssl_.get(), result)) {
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE: break;
        case SSL_ERROR_ZERO_RETURN: over_ = true; break;
        default: over_ = failed_ = true; // an alert says why
        }
        ERR_clear_error();
    }

    std::unique_ptr<SSL, freed_by<&SSL_free>> ssl_; // owns the others
    BIO* in_;
    BIO* out_;
    std::optional<std::string> subject_;
    bool begun_ = false;
    bool over_ = false;   // the client says no more that makes sense
    bool failed_ = false; // OpenSSL is not to be asked any more
    bool ended_ = false;
};

// Nobody asks for the password of a key: there may be no terminal.
int no_password(char*, int, int, void*)
{
    return 0;
}

} // namespace

make_wrapping tls_of(const std::filesystem::path& directory)
{
    ERR_clear_error();
    const context_ptr context{SSL_CTX_new(TLS_server_method()), &SSL_CTX_free};
    if (!context) {
        fail("TLS cannot be had");
    }
    auto* const of = context.get();
    const auto path = [&](const char* name) { return (directory / name).string(); };
    const auto check = [&](bool good, const char* name) {
        std::error_code unknown;
        if (!good && !std::filesystem::exists(directory / name, unknown) && !unknown) {
            throw std::runtime_error{"there is no " + path(name) +
                                     ", and the directory is not empty; give an empty one"};
        }
        if (!good) {
            fail("cannot use " + path(name));
        }
    };
    const auto authorities = path("ca.pem");
    check(SSL_CTX_load_verify_file(of, authorities.c_str()) == 1, "ca.pem");
    SSL_CTX_set_client_CA_list(of, SSL_load_client_CA_file(authorities.c_str()));
    SSL_CTX_set_verify(of, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_default_passwd_cb(of, &no_password);
    check(SSL_CTX_use_certificate_chain_file(of, path("server.pem").c_str()) == 1, "server.pem");
    check(SSL_CTX_use_PrivateKey_file(of, path("server.key").c_str(), SSL_FILETYPE_PEM) == 1,
          "server.key");
    SSL_CTX_set_min_proto_version(of, TLS1_2_VERSION);
    // Each connection shows its certificate, and is made anew.
    SSL_CTX_set_options(of, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(of, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(of, 0);
    return [context] { return std::make_unique<tls>(context); };
}

} // namespace colock::testing
