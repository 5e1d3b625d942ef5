// tls HOST:PORT[,...] DIRECTORY: takes a lock at servers that speak TLS. The directory has ca.pem, client.pem, client.key.
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>

#include <exception>
#include <iostream>
#include <memory>
#include <string>

namespace asio = boost::asio;

asio::awaitable<void> work(colock::client& zk)
{
    co_await zk.async_connect();
    co_await colock::async_ensure_lock_root(
        zk, "/locks/shop"); // nobody but this identity can write there
    colock::mutex till{zk, "/locks/shop/till"};

    co_await till.async_with_lock([&](const colock::unique_lock& held) -> asio::awaitable<void> {
        std::cout << "the till is mine, by token " << held.token() << std::endl;
        co_return;
    });
    co_await zk.async_close();
}

int main(int argc, char** argv)
{
    const std::string directory = argc > 2 ? argv[2] : ".";
    asio::io_context context;
    try {
        colock::client_options options{.hosts = argc > 1 ? argv[1] : "localhost:2281"};
        options.acl = colock::creator_acl();
        options.tls = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
        options.tls->load_verify_file(directory + "/ca.pem");
        options.tls->use_certificate_chain_file(directory + "/client.pem");
        options.tls->use_private_key_file(directory + "/client.key", asio::ssl::context::pem);

        colock::client zk{context, options};
        asio::co_spawn(context, work(zk), [](std::exception_ptr e) {
            if (e) {
                std::rethrow_exception(e);
            }
        });
        context.run();
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
