#include "connect/until_signal.hpp"

#include "program/exit_status.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <signal.h>
#include <sys/prctl.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <optional>

namespace colock::cli {

namespace asio = boost::asio;

void end_by(int number)
{
    if (number == SIGINT || number == SIGQUIT) {
        std::cout.flush();
        leave_no_core();
        ::raise(number);
    }
}

void leave_no_core()
{
    ::prctl(PR_SET_DUMPABLE, 0);
}

void hear(asio::signal_set& signals, std::initializer_list<int> numbers)
{
    for (const int number : numbers) {
        struct sigaction now {};
        if (::sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_IGN) {
            signals.add(number);
        }
    }
}

namespace {

constexpr std::initializer_list<int> ends{SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE};

// When it returns, also after a second signal, what the body has made is gone: clients have told the servers that they leave.
int run_and_hear(const std::function<asio::awaitable<int>()>& body, std::optional<int>& signal)
{
    asio::io_context unused;
    // Outlives the context below: until that is gone no signal ends this process.
    asio::signal_set kept{unused};
    hear(kept, ends);
    asio::io_context context{1};
    asio::cancellation_signal stop;
    asio::signal_set signals{context};
    hear(signals, ends);
    std::chrono::steady_clock::time_point signalled_at;
    std::exception_ptr failed;
    int status = 0;

    std::function<void()> wait_for_signal = [&] {
        signals.async_wait([&](const boost::system::error_code& ec, int number) {
            if (ec) {
                return;
            }
            // timeout(1), for one, sends each signal twice; SIGPIPE comes with each line that nobody reads.
            constexpr std::chrono::seconds twice{1};
            if (signal && number != SIGPIPE &&
                std::chrono::steady_clock::now() - signalled_at >= twice) {
                context.stop();
                return;
            }
            wait_for_signal();
            if (signal) {
                return;
            }
            signal = number;
            signalled_at = std::chrono::steady_clock::now();
            stop.emit(asio::cancellation_type::terminal);
        });
    };
    wait_for_signal();
    asio::co_spawn(context, body(),
                   asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr e, int result) {
                       failed = e;
                       status = result;
                       signals.cancel();
                   }));
    context.run();
    if (failed && !signal) {
        std::rethrow_exception(failed);
    }
    return status;
}

} // namespace

int run_until_signal(std::function<asio::awaitable<int>()> body)
{
    std::optional<int> signal;
    const int status = run_and_hear(body, signal);
    if (signal) {
        end_by(*signal);
        return signalled + *signal;
    }
    return status;
}

} // namespace colock::cli
