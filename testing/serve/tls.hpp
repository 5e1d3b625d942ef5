// `colock serve --tls DIR`: what the files in a directory stand for.
#pragma once

#include "wrapping.hpp"

#include <filesystem>

namespace colock::testing {

// A server's end of TLS, with `server.pem`, `server.key` and `ca.pem`. Clients need no certificate; one that they show has to
// be of the authorities in `ca.pem`. Throws std::runtime_error.
[[nodiscard]] make_wrapping tls_of(const std::filesystem::path& directory);

// Makes these files, with `ca.key`, `client.pem` and `client.key`, where the directory is empty or is not there; false: it is
// neither. Throws std::runtime_error.
bool make_certificates(const std::filesystem::path& directory);

} // namespace colock::testing
