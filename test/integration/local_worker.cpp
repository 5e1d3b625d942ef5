// A process with several waiters: each takes turns, and appends the process's letter to a file at every one,
// until the file has so many.
//
//   local_worker HOSTS PATH FILE LETTER WAITERS TURNS     prints what each turn was waited for, in microseconds
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

struct process {
    colock::client zk;
    std::string path;
    int file;
    char letter;
    int waiters;
    long turns;
    std::vector<long> waited;

    asio::awaitable<void> work()
    {
        colock::mutex m{zk, path};
        for (;;) {
            const auto since = std::chrono::steady_clock::now();
            const auto held = co_await m.async_lock();
            waited.push_back((std::chrono::steady_clock::now() - since) / 1us);
            struct stat s = {};
            if (::fstat(file, &s) != 0 || s.st_size >= turns) {
                break;
            }
            if (::write(file, &letter, 1) != 1 || !held) {
                throw std::runtime_error("cannot write, or lost the lock");
            }
        }
        if (--waiters == 0) {
            co_await zk.async_close();
        }
    }
    asio::awaitable<void> run()
    {
        co_await zk.async_connect();
        for (int i = waiters; i != 0; --i) {
            asio::co_spawn(zk.get_executor(), work(), [](std::exception_ptr e) {
                if (e) {
                    std::rethrow_exception(e);
                }
            });
        }
    }
};

} // namespace

int main(int argc, char** argv)
{
    if (argc != 7) {
        return 2;
    }
    asio::io_context io;
    process p{.zk = {io, {.hosts = argv[1]}},
              .path = argv[2],
              .file = ::open(argv[3], O_WRONLY | O_APPEND),
              .letter = *argv[4],
              .waiters = std::stoi(argv[5]),
              .turns = std::stol(argv[6]),
              .waited = {}};
    asio::co_spawn(io, p.run(), [](std::exception_ptr e) {
        if (e) {
            std::rethrow_exception(e);
        }
    });
    io.run();
    for (const auto each : p.waited) {
        std::cout << each << '\n';
    }
    return 0;
}
