// TLS with one server, as bytes: no socket, no clock. This is the only door to OpenSSL.
#pragma once

#include "zk/tls_terms.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace colock::zk {

// Once it has failed, it says why by fault(), and does nothing any more but to have unsent bytes: an alert.
class tls_session {
public:
    explicit tls_session(const tls_terms& terms);
    ~tls_session();

    // ---- cipher text

    // What the server has sent.
    void feed(std::string_view cipher_text);
    // What the server is to get; sent() takes it away.
    [[nodiscard]] std::string_view unsent() const noexcept;
    void sent(std::size_t count) noexcept;

    // ---- the handshake

    enum class progress { waits, complete, failed };
    [[nodiscard]] progress shake_hands();

    // ---- plain text, after the handshake

    // How many bytes were read; 0: feed() first, unless it is over.
    [[nodiscard]] std::size_t read(char* into, std::size_t size);
    // There may be something to read without feed().
    [[nodiscard]] bool has_unread() const noexcept;
    // False when it has failed. What OpenSSL does not take now, in the midst of a message of the server, leaves with a
    // later call, which may have no text of its own.
    [[nodiscard]] bool write(std::string_view plain_text);

    // No plain text will come any more: the server has said so, or it has failed.
    [[nodiscard]] bool is_over() const noexcept { return over_; }
    [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

private:
    struct parts; // of OpenSSL

    void fail(std::string why);
    void fail_by_library();
    [[nodiscard]] bool check_name();

    tls_terms terms_;
    std::unique_ptr<parts> parts_;
    std::string held_;         // was not taken yet
    std::size_t read_ = 0;     // bytes of plain text
    std::size_t messages_ = 0; // of TLS itself, after the handshake
    bool open_ = false;        // the handshake is complete
    bool over_ = false;
    std::string fault_;
};

} // namespace colock::zk
