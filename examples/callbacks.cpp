// The lock without coroutines: every function takes a callback, or any other completion token.
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
        zk_.async_connect([this](colock::error_code ec) {
            if (ec) {
                return fail("connect", ec);
            }
            greetings_.async_lock([this](colock::error_code error, colock::unique_lock held) {
                error ? fail("lock", error) : greet(std::move(held));
            });
        });
    }

    [[nodiscard]] int exit_status() const noexcept { return exit_status_; }

private:
    // The guard may be kept anywhere; its destructor releases the lock, too.
    void greet(colock::unique_lock held)
    {
        std::cout << "hello, my fencing token is " << held.token() << std::endl;
        held.async_unlock([this](colock::error_code ec) {
            if (ec) {
                return fail("unlock", ec);
            }
            close();
        });
    }

    // A connected client keeps run() from returning until it is closed.
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
