// A program of somebody who uses colock with TLS. Needs no server: there is none at an empty list of hosts.
#include <colock/client.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>

#include <iostream>
#include <memory>

int main()
{
    namespace ssl = boost::asio::ssl;
    boost::asio::io_context context;
    colock::client_options options;
    options.tls = std::make_shared<ssl::context>(ssl::context::tls_client);
    options.tls->set_default_verify_paths();
    options.hosts = "localhost";
    // The client checks credentials only after it has found that the library speaks TLS.
    options.credentials = {{"digest", "somebody:something"}};
    options.max_request_size = 10;
    colock::client client{context, options};

    colock::error_code result;
    client.async_connect([&](colock::error_code ec) { result = ec; });
    context.run();

    std::cout << result.message() << '\n';
    return result == colock::errc::request_too_large ? 0 : 1;
}
