// The lock without coroutines: every function takes a callback.
//
//     callbacks [HOST:PORT]
//
#include <colock/colock.hpp>

#include <boost/asio/io_context.hpp>

#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>

namespace asio = boost::asio;

class greeter {
public:
    greeter(asio::io_context& context, std::string hosts)
        : zk_{context, {.hosts = std::move(hosts)}}, greetings_{zk_, "/locks/greetings"}
    {
    }

    void start()
    {
        zk_.async_connect([this](colock::error_code ec) { ec ? fail("connect", ec) : lock(); });
    }

    [[nodiscard]] int exit_status() const noexcept { return exit_status_; }

private:
    void lock()
    {
        greetings_.async_lock([this](colock::error_code ec, colock::unique_lock held) {
            ec ? fail("lock", ec) : greet(std::move(held));
        });
    }

    void greet(colock::unique_lock held)
    {
        std::cout << "hello, my fencing token is " << held.token() << std::endl;
        held.async_unlock([this](colock::error_code ec) { ec ? fail("unlock", ec) : close(); });
    }

    void close()
    {
        zk_.async_close([](colock::error_code) {});
    }

    void fail(const char* what, colock::error_code ec)
    {
        std::cerr << "cannot " << what << ": " << ec.message() << "\n  " << zk_.last_error_detail()
                  << '\n';
        exit_status_ = EXIT_FAILURE;
        close();
    }

    colock::client zk_;
    colock::mutex greetings_;
    int exit_status_ = EXIT_SUCCESS;
};

int main(int argc, char** argv)
{
    asio::io_context context;
    greeter one{context, argc > 1 ? argv[1] : "localhost:2181"};
    one.start();
    context.run();
    return one.exit_status();
}
