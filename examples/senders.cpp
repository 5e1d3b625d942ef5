// Senders of std::execution, as stdexec has them: take a lock, but wait for a second at most.
#include <colock/colock.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <exception>
#include <exec/asio/use_sender.hpp>
#include <exec/when_any.hpp>
#include <iostream>
#include <stdexec/execution.hpp>
#include <thread>
#include <utility>

namespace asio = boost::asio;
using exec::asio::use_sender;
using namespace std::chrono_literals;

int main(int argc, char** argv)
{
    asio::io_context io;
    const auto work = asio::make_work_guard(io);
    const std::jthread runs{[&] { io.run(); }};
    int status = 0;
    try {
        colock::client zk{io, {.hosts = argc > 1 ? argv[1] : "localhost:2181"}};
        stdexec::sync_wait(zk.async_connect(use_sender));
        colock::mutex m{zk, "/locks/senders"};
        asio::steady_timer timer{io, 1s};

        // Whichever completes first stops the other; an acquisition that is stopped leaves no node.
        auto too_late =
            timer.async_wait(use_sender) | stdexec::then([] { return colock::unique_lock{}; });
        auto [held] =
            stdexec::sync_wait(exec::when_any(m.async_lock(use_sender), std::move(too_late)))
                .value();
        if (held) {
            std::cout << "granted, token " << held.token() << '\n';
            stdexec::sync_wait(held.async_unlock(use_sender));
        } else {
            std::cout << "not granted within a second\n";
        }
        stdexec::sync_wait(zk.async_close(use_sender));
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        status = 1;
    }
    io.stop();
    return status;
}
