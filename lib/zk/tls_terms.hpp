// How a server has to be spoken to by TLS.
#pragma once

#include <colock/client_options.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace boost::asio::ssl {
class context;
}

namespace colock::zk {

struct tls_terms {
    std::shared_ptr<boost::asio::ssl::context> context;
    // Names and addresses; the certificate has to be for one of them. Sent to the server (SNI): the first that is a name.
    std::vector<std::string> names;
    bool checks_certificate = true;
    bool checks_name = true;
};

// As the options of a client have it. `names`: what stands for the server in `hosts`.
[[nodiscard]] inline tls_terms terms_of(std::shared_ptr<boost::asio::ssl::context> context,
                                        std::vector<std::string> names,
                                        const std::string& tls_server_name,
                                        tls_verification tls_verify)
{
    for (auto& name : names) {
        if (name.ends_with('.')) {
            name.pop_back(); // it is for resolvers: neither certificates nor SNI have it
        }
    }
    return {.context = std::move(context),
            .names = tls_server_name.empty() ? std::move(names)
                                             : std::vector<std::string>{tls_server_name},
            .checks_certificate = tls_verify != tls_verification::off,
            .checks_name = tls_verify == tls_verification::full};
}

} // namespace colock::zk
