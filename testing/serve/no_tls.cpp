// In place of tls.cpp and certificates.cpp where colock was built without TLS.
#include "tls.hpp"

#include <stdexcept>

namespace colock::testing {

make_wrapping tls_of(const std::filesystem::path&)
{
    return {};
}

bool make_certificates(const std::filesystem::path&)
{
    throw std::runtime_error{"this colock was built without TLS; build it with -D COLOCK_TLS=ON"};
}

} // namespace colock::testing
