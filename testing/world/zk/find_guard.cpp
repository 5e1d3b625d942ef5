// Who has a session guard in this world is for its process to know. Nobody speaks TLS.
#include "../process.hpp"
#include "guard/helper.hpp"
#include "guard/tls_material.hpp"

namespace colock::guard {

started_helper find_helper(const std::string&, int)
{
    const auto& find = colock::simulated::process::current().find_guard;
    return find ? find() : started_helper{nullptr, "there is none in this world"};
}

tls_material material_of(boost::asio::ssl::context&)
{
    return {};
}

std::shared_ptr<boost::asio::ssl::context> context_of_material(const std::string&)
{
    return nullptr;
}

} // namespace colock::guard
