// A client that says secrets to a server: where they go is what tls_secrets looks at.
//
//   tls_speaker HOSTS AUTHORITY CERTIFICATE KEY PASSWORD TEXT
#include <colock/colock.hpp>
#include <support/run.hpp>

#include <boost/asio/ssl/context.hpp>

#include <cstdio>
#include <iostream>

namespace asio = boost::asio;

namespace {

asio::awaitable<void> speak(colock::client& zk, std::string text)
{
    co_await zk.async_connect();
    colock::mutex m{zk, "/" + text};
    auto held = co_await m.async_lock();
    colock::create_options options;
    co_await zk.async_create("/" + text + "-data", text, options);
    const auto read = co_await zk.async_get("/" + text + "-data");
    std::cout << (read.data == text ? "said" : "misheard") << std::endl;
    co_await held.async_unlock();
    co_await zk.async_close();
}

} // namespace

int main(int count, char** arguments)
{
    if (count != 7) {
        return 2;
    }
    asio::io_context io;
    colock::client_options options;
    options.hosts = arguments[1];
    options.tls = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
    options.tls->load_verify_file(arguments[2]);
    options.tls->use_certificate_chain_file(arguments[3]);
    options.tls->use_private_key_file(arguments[4], asio::ssl::context::pem);
    options.credentials = {{"digest", std::string{"speaker:"} + arguments[5]}};
    colock::client zk{io, options};
    asio::co_spawn(io, speak(zk, arguments[6]), [](const std::exception_ptr& failed) {
        if (failed) {
            std::rethrow_exception(failed);
        }
    });
    io.run();
}
