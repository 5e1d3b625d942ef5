// In the place of TLS, where the library was built without OpenSSL.
#include "zk/connection.hpp"
#include "zk/tls_wire.hpp"

namespace colock::zk {

bool speaks_tls() noexcept
{
    return false;
}

std::shared_ptr<tls_connector> make_tls_connector(const strand_type&, const std::string&,
                                                  const tls_terms&)
{
    return nullptr;
}

} // namespace colock::zk
