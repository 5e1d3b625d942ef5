// In the place of tls_material.cpp, where the library was built without OpenSSL.
#include "guard/tls_material.hpp"

namespace colock::guard {

tls_material material_of(boost::asio::ssl::context&)
{
    return {};
}

std::shared_ptr<boost::asio::ssl::context> context_of_material(const std::string&)
{
    return nullptr;
}

} // namespace colock::guard
