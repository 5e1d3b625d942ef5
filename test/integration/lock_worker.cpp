// A process that takes its turns: adds one to a file that nothing protects but the lock.
//
//   lock_worker HOSTS PATH FILE TURNS     prints nothing, returns 0 when all went well
//   lock_worker HOSTS PATH FILE hold      prints "held <token>", and holds the lock until it is killed
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

// The last holder's token stands beside the count: tokens of later grants are greater.
void add_one(const std::string& file, const colock::fencing_token& token)
{
    long count = 0;
    std::string last(32, '0');
    std::ifstream{file} >> count >> last;
    if (to_string(token) <= last) {
        throw std::runtime_error("token " + to_string(token) + " is not greater than " + last);
    }
    std::ofstream out{file};
    out << count + 1 << ' ' << token << '\n';
    if (!out.flush()) {
        throw std::runtime_error("cannot write " + file);
    }
}

asio::awaitable<void> work(asio::io_context& io, std::string hosts, std::string path,
                           std::string file, std::string turns)
{
    colock::client zk{io, {.hosts = hosts, .session_timeout = 4s, .tick = 200ms}};
    co_await zk.async_connect();
    colock::mutex m{zk, path};
    if (turns == "hold") {
        const auto held = co_await m.async_lock();
        std::cout << "held " << held.token() << std::endl;
        asio::steady_timer forever{io, asio::steady_timer::time_point::max()};
        co_await forever.async_wait(asio::deferred);
    }
    for (int i = 0; i != std::stoi(turns); ++i) {
        auto held = co_await m.async_lock();
        add_one(file, held.token());
        if (!held) {
            throw std::runtime_error("lost the lock: " + held.loss_reason().message());
        }
        co_await held.async_unlock();
    }
    co_await zk.async_close();
}

} // namespace

int main(int argc, char** argv)
{
    if (argc != 5) {
        return 2;
    }
    asio::io_context io;
    int status = 0;
    asio::co_spawn(io, work(io, argv[1], argv[2], argv[3], argv[4]),
                   [&](std::exception_ptr thrown) {
                       try {
                           if (thrown) {
                               std::rethrow_exception(thrown);
                           }
                       } catch (const std::exception& e) {
                           std::cerr << "lock_worker: " << e.what() << '\n';
                           status = 1;
                       }
                   });
    io.run();
    return status;
}
