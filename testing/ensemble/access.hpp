// ZooKeeper's access control, with the schemes "world", "digest", "auth", "ip" and "x509".
#pragma once

#include <colock/node.hpp>

#include "transaction.hpp"
#include "wire.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace colock::simulated {

struct identity {
    std::string scheme;
    std::string id;

    friend bool operator==(const identity&, const identity&) = default;
};

using identities = std::vector<identity>;
using shared_identities = std::shared_ptr<const identities>;

// "user:password" as an access control list has it: "user:" and the Base64 of its SHA-1.
[[nodiscard]] std::string digest_of(const std::string& secret);

// What a connection has said about itself is added to `to`. False when the server does not know the scheme.
[[nodiscard]] bool authenticate(const claim& c, const std::string& address, identities& to);

// open_acl(), which all nodes that have it share.
[[nodiscard]] const shared_acl& the_open_one();

// What it takes to keep; nothing, if it is the open one.
[[nodiscard]] std::size_t size_of(const colock::access_control_list& acl);

[[nodiscard]] bool may(std::int32_t permission, const colock::access_control_list& acl,
                       const identities& who);

// The list of a new node, with "auth" replaced. Empty when the server refuses the list.
[[nodiscard]] shared_acl resolve(const colock::access_control_list& acl, const identities& who,
                                 bool knows_certificates);

} // namespace colock::simulated
