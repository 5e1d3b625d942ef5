// In place of tls_context.cpp where colock was built without TLS.
#include "connect/tls_context.hpp"
#include "program/failure.hpp"

namespace colock::cli {

void add_tls(client_options&, const server_options& o)
{
    if (o.tls || !o.tls_ca.empty() || !o.tls_cert.empty() || !o.tls_key.empty()) {
        throw failure{usage, "this colock was built without TLS; build it with -D COLOCK_TLS=ON"};
    }
}

} // namespace colock::cli
