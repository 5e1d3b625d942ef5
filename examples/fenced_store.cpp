// What fencing tokens are for: a holder that is paused for longer than its session lives wakes up, believes that
// it still holds the lock, and writes. The store refuses, for it has seen a greater token. docs/fencing.md has the
// same for SQL and for object stores.
//
//     fenced_store [HOST:PORT]       takes about six seconds
//
#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <unistd.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// A file that remembers the greatest token that wrote it. Tokens are printed in 32 digits whose order as text is
// theirs. Several processes would hold flock(2) on the file meanwhile.
class fenced_file {
public:
    explicit fenced_file(std::filesystem::path path) : path_{std::move(path)} {}
    ~fenced_file() { std::filesystem::remove(path_); }

    bool write(const colock::fencing_token& token, const std::string& text)
    {
        std::string greatest;
        std::ifstream{path_} >> greatest;
        if (to_string(token) < greatest) {
            return false;
        }
        const auto next = path_.string() + ".next";
        std::ofstream{next} << to_string(token) << '\n' << text << '\n';
        std::filesystem::rename(next, path_); // all or nothing
        return true;
    }

private:
    std::filesystem::path path_;
};

// A client and the context that it lives in. While nobody runs the context the program is as good as paused.
struct program {
    explicit program(const std::string& hosts)
        : zk{context, {.hosts = hosts, .session_timeout = 4s}}
    {
    }

    template <class T>
    T run(asio::awaitable<T> what)
    {
        auto result = asio::co_spawn(context, std::move(what), asio::use_future);
        context.restart();
        while (result.wait_for(0s) != std::future_status::ready) {
            context.run_one();
        }
        return result.get();
    }

    asio::awaitable<colock::unique_lock> take_lock()
    {
        co_await zk.async_connect();
        colock::mutex books{zk, "/locks/books"};
        co_return co_await books.async_lock();
    }

    asio::io_context context;
    colock::client zk;
};

int main(int argc, char** argv)
{
    const std::string hosts = argc > 1 ? argv[1] : "localhost:2181";
    fenced_file file{std::filesystem::temp_directory_path() /
                     ("fenced_store." + std::to_string(::getpid()))};
    const auto write = [&](const char* who, const colock::unique_lock& held) {
        const bool done = file.write(held.token(), who);
        std::cout << who << ", with token " << held.token() << ": "
                  << (done ? "written" : "refused") << std::endl;
        return done;
    };
    program first{hosts};
    program second{hosts};
    try {
        const auto held = first.run(first.take_lock());
        const bool before = write("first", held);

        std::cout << "the first one is paused" << std::endl;
        const auto next = second.run(second.take_lock()); // when the first one's session is over
        const bool meanwhile = write("second", next);

        std::cout << "the first one wakes up; its guard says: "
                  << (held ? "held" : "the lock was lost: " + held.loss_reason().message())
                  << std::endl;
        const bool late = write("first", held);

        second.run([](colock::client& zk) -> asio::awaitable<void> {
            co_await zk.async_close();
        }(second.zk));
        return before && meanwhile && !late ? 0 : 1;
    } catch (const std::exception& e) {
        std::cerr << e.what() << "\n  " << first.zk.last_error_detail() << ' '
                  << second.zk.last_error_detail() << '\n';
        return 1;
    }
}
