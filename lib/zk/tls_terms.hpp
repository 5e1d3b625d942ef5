// How a server has to be spoken to by TLS.
#pragma once

#include <boost/asio/ip/address.hpp>

#include <memory>
#include <string>
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

} // namespace colock::zk
