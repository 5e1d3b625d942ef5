// A TLS context as text, for another process of this user.
#pragma once

#include "zk/secret.hpp"

#include <memory>
#include <string>
#include <utility>

namespace boost::asio::ssl {
class context;
}

namespace colock::guard {

struct tls_material {
    std::string text = {};  // secret, as it has the private key; "": plain TCP
    std::string fault = {}; // why the context cannot be handed over

    tls_material() = default;
    tls_material(tls_material&& other) noexcept { *this = std::move(other); }
    tls_material& operator=(tls_material&& other) noexcept
    {
        text.swap(other.text);
        fault.swap(other.fault);
        return *this; // what was here is overwritten with `other`
    }
    ~tls_material() { zk::wipe(text); }
};

// Authorities, revocations, certificate, chain, key, versions, ciphers, and how to verify.
[[nodiscard]] tls_material material_of(boost::asio::ssl::context& context);
// Null when it is no such text.
[[nodiscard]] std::shared_ptr<boost::asio::ssl::context>
context_of_material(const std::string& text);

} // namespace colock::guard
