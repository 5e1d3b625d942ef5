// A TLS context as text, for another process of this user.
#pragma once

#include <memory>
#include <string>

namespace boost::asio::ssl {
class context;
}

namespace colock::guard {

struct tls_material {
    std::string text = {};  // secret: it has the private key
    std::string fault = {}; // why the context cannot be handed over
};

// Authorities, certificate, chain, key, versions, ciphers.
[[nodiscard]] tls_material material_of(boost::asio::ssl::context& context);
// Null when it is no such text.
[[nodiscard]] std::shared_ptr<boost::asio::ssl::context>
context_of_material(const std::string& text);

} // namespace colock::guard
