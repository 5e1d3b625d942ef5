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
    // What the server asked for is told (SNI), when it is a name; the first of them.
    std::vector<std::string>
        names; // names and addresses, one of which the certificate has to be for
    bool checks_certificate = true;
    bool checks_name = true;
};

} // namespace colock::zk
