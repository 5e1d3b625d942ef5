// A body that cleans up, however it ends.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>

#include <functional>
#include <initializer_list>

namespace colock::cli {

// Adds those of the signals that whoever started this process does not have it ignore, as nohup does with SIGHUP.
void hear(boost::asio::signal_set& signals, std::initializer_list<int> numbers);

// Ends this process by a signal of the terminal that it has heard: a shell takes a program that returns 130 for one that
// Ctrl-C was not meant for, and goes on with the next line of the script. For another signal it does nothing. No signal_set may
// hear signals any more: a signal has to end this process while its output waits for a reader that has stopped.
void end_by(int number);
// To be called before a signal ends this process: a core file would show the secrets in its memory.
void leave_no_core();

// Runs the body and gives its status, or throws what it throws. SIGINT, SIGQUIT, SIGTERM, SIGHUP and SIGPIPE cancel it, unless
// they are ignored; it cleans up after `keep_on()`, and the status is that of the signal, by which SIGINT and SIGQUIT end this
// process. A signal a second later, or more, ends it at once.
int run_until_signal(std::function<boost::asio::awaitable<int>()> body);

// `co_await keep_on();`: from here on no signal cancels what the body waits for, so that it can remove what it has made.
[[nodiscard]] inline auto keep_on()
{
    // No coroutine: a body that is cancelled cannot await one.
    return boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
}

} // namespace colock::cli
