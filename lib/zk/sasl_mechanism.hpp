// Who the client is to a server that asks by SASL, and what a mechanism says in its place.
#pragma once

#include <colock/client_options.hpp>

#include "zk/sasl_exchange.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock::zk {

constexpr std::string_view digest_md5 = "DIGEST-MD5";
constexpr std::string_view gssapi = "GSSAPI";

struct sasl_terms {
    std::string mechanism;
    std::string user;
    std::string secret;
    std::string service;
    std::string server_name;
    std::string realm;
};

// `names`: what stands for the server in `hosts`. Asks the user for the secret.
[[nodiscard]] inline sasl_terms terms_of(const sasl_options& o,
                                         const std::vector<std::string>& names)
{
    // The name that servers give themselves for DIGEST-MD5, whatever their hosts are called.
    const std::string usual =
        o.mechanism == gssapi && !names.empty() ? names.front() : "zk-sasl-md5";
    return {.mechanism = o.mechanism,
            .user = o.user,
            .secret = o.secret ? o.secret() : std::string{},
            .service = o.service,
            .server_name = o.server_name.empty() ? usual : o.server_name,
            .realm = o.realm};
}

// Whether this library speaks SASL.
[[nodiscard]] bool speaks_sasl() noexcept;

// May block, on a server of keys. One thread at a time.
class sasl_mechanism {
public:
    sasl_mechanism() = default;
    sasl_mechanism(const sasl_mechanism&) = delete;
    sasl_mechanism& operator=(const sasl_mechanism&) = delete;
    virtual ~sasl_mechanism() = default;

    [[nodiscard]] virtual const std::string& name() const noexcept = 0;
    [[nodiscard]] virtual sasl_word begin() = 0;
    [[nodiscard]] virtual sasl_word answer(std::string_view challenge) = 0;
};

// Null when there is none in this library.
[[nodiscard]] std::shared_ptr<sasl_mechanism> make_sasl_mechanism(sasl_terms terms);

} // namespace colock::zk
