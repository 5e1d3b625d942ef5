// The addresses of a host name: a wait that can be ended.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>

#include <memory>
#include <string>

namespace colock::cli {

// Asio's resolver cannot be cancelled: run() and the context's destructor wait for its answer, 10 s and more when name
// servers are silent. Here a thread asks, and nobody waits for it.
class look_up {
public:
    using tcp = boost::asio::ip::tcp;

    explicit look_up(const boost::asio::any_io_executor& executor);
    look_up(const look_up&) = delete;
    ~look_up();

    // Once. operation_aborted when it was cancelled meanwhile.
    boost::asio::awaitable<tcp::resolver::results_type>
    addresses_of(std::string host, std::string port, boost::system::error_code& ec);

private:
    struct question;
    std::shared_ptr<question> question_;
};

} // namespace colock::cli
