// A program of somebody who uses colock. Needs no server: there is none at an empty list of hosts.
#include <colock/client.hpp>
#include <colock/version.hpp>

#include <boost/asio/io_context.hpp>

#include <iostream>

int main()
{
    boost::asio::io_context context;
    colock::client client{context, colock::client_options{.hosts = ""}};

    colock::error_code result;
    client.async_connect([&](colock::error_code ec) { result = ec; });
    context.run();

    std::cout << "colock " << COLOCK_VERSION_STRING << ": " << result.message() << '\n';
    return result == colock::errc::invalid_hosts ? 0 : 1;
}
