// The name in a certificate, as ZooKeeper's servers write it.
#pragma once

#include <openssl/x509.h>

#include <string>

namespace colock::testing {

// As Java's X500Principal.getName() does: RFC 2253, in its own reading.
[[nodiscard]] std::string name_of(const X509_NAME* name);

} // namespace colock::testing
