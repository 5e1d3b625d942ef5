// One process of the demo: several coroutines take turns, among themselves and with those of other
// processes, at updating one file. The lock is all that keeps them apart.
//
//     turn_taker --hosts localhost:2181 --file /tmp/count --turns 3
//
#include <colock/client.hpp>
#include <colock/mutex.hpp>
#include <colock/unique_lock.hpp>

#include "demo/event.hpp"
#include "demo/shared_file.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <unistd.h>

#include <charconv>
#include <chrono>
#include <exception>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace asio = boost::asio;

namespace {

constexpr std::string_view help = R"(turn_taker: coroutines that take turns at updating one file

usage: turn_taker --file FILE [options]

  --file FILE        the file; it is begun if it does not exist
  --hosts LIST       the ZooKeeper servers (localhost:2181)
  --lock PATH        the path of the lock (/locks/demo)
  --no-lock          take no turns at all: everybody at once
  --coroutines N     how many (3)
  --turns N          how many turns each takes (5)
  --hold MS          how long a turn lasts between reading and writing (50)
  --session MS       time-out of the session (10000)
  --tick MS          tickTime of the servers (2000)
  --name NAME        of this process, for the file

Prints one line for each event, see examples/demo/event.hpp.
)";

struct settings {
    std::string file, hosts = "localhost:2181", lock = "/locks/demo", name = "turn_taker";
    bool no_lock = false, help = false;
    int coroutines = 3, turns = 5;
    std::chrono::milliseconds hold{50}, session{10'000}, tick{2000};
};

struct bad_usage : std::runtime_error {
    using runtime_error::runtime_error;
};

int number(std::string_view option, std::string_view text)
{
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < 1) {
        throw bad_usage{std::string{option} + " takes a whole number from 1, not \"" +
                        std::string{text} + "\""};
    }
    return value;
}

settings parse(int argc, char** argv)
{
    settings s;
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        const auto value = [&]() -> std::string {
            if (++i == argc) {
                throw bad_usage{std::string{option} + " needs a value"};
            }
            return argv[i];
        };
        if (option == "--file") {
            s.file = value();
        } else if (option == "--hosts") {
            s.hosts = value();
        } else if (option == "--lock") {
            s.lock = value();
        } else if (option == "--name") {
            s.name = value();
        } else if (option == "--coroutines") {
            s.coroutines = number(option, value());
        } else if (option == "--turns") {
            s.turns = number(option, value());
        } else if (option == "--hold") {
            s.hold = std::chrono::milliseconds{number(option, value())};
        } else if (option == "--session") {
            s.session = std::chrono::milliseconds{number(option, value())};
        } else if (option == "--tick") {
            s.tick = std::chrono::milliseconds{number(option, value())};
        } else if (option == "--no-lock") {
            s.no_lock = true;
        } else if (option == "--help") {
            s.help = true;
        } else {
            throw bad_usage{"there is no option \"" + std::string{option} + "\""};
        }
    }
    if (s.file.empty() && !s.help) {
        throw bad_usage{"--file is missing"};
    }
    return s;
}

void report(demo::event e)
{
    e.at = demo::now();
    std::cout << e << std::flush;
}

// One turn: the number in the file grows by one, provided that nobody else writes meanwhile. With a
// guard, stops short of writing when the lock was lost. Returns whether it has written.
asio::awaitable<bool> update(const settings& s, int coroutine, const colock::unique_lock* guard)
{
    const auto token = guard ? to_string(guard->token()) : "-";
    const auto found = demo::read_record(s.file).count;
    report({demo::happening::holding, coroutine, token, found});

    asio::steady_timer work{co_await asio::this_coro::executor, s.hold};
    co_await work.async_wait(asio::deferred);

    if (guard && guard->loss_reason()) {
        report({demo::happening::lost, coroutine, token, found, guard->loss_reason().message()});
        co_return false;
    }
    demo::write_record(s.file, {found + 1, token, s.name + '/' + std::to_string(coroutine)});
    report({demo::happening::wrote, coroutine, token, found + 1});
    report({demo::happening::releasing, coroutine, token, found + 1});
    co_return true;
}

asio::awaitable<void> take_turns(const settings& s, colock::mutex& lock, int coroutine)
{
    for (int turns = 0; turns < s.turns;) {
        report({demo::happening::waiting, coroutine});
        colock::unique_lock held = co_await lock.async_lock();
        const auto token = to_string(held.token());
        if (!co_await update(s, coroutine, &held)) {
            continue; // wait for another turn
        }
        ++turns;
        if (const auto [ec] = co_await held.async_unlock(asio::as_tuple(asio::deferred)); ec) {
            report({demo::happening::lost, coroutine, token, 0, ec.message()});
        }
    }
}

asio::awaitable<void> take_turns_without_lock(const settings& s, int coroutine)
{
    for (int turns = 0; turns < s.turns; ++turns) {
        co_await update(s, coroutine, nullptr);
    }
}

// Tells how the connection comes and goes, until the client is closed.
asio::awaitable<void> watch_connection(colock::client& zk)
{
    for (auto state = zk.state(); state != colock::connection_state::closed;) {
        if (state == colock::connection_state::connected) {
            std::ostringstream session;
            session << "0x" << std::hex << zk.session_id();
            report({.what = demo::happening::connected, .text = session.str()});
        } else if (state == colock::connection_state::suspended) {
            report({.what = demo::happening::disconnected});
        }
        state = co_await zk.async_wait_state_change(state);
    }
}

void rethrow(std::exception_ptr failure)
{
    if (failure) {
        std::rethrow_exception(failure); // out of io_context::run()
    }
}

asio::awaitable<void> run(const settings& s, colock::client& zk)
{
    const auto executor = co_await asio::this_coro::executor;
    colock::mutex lock{zk, s.lock};
    if (!s.no_lock) {
        co_await zk.async_connect();
        asio::co_spawn(executor, watch_connection(zk), rethrow);
    }

    int running = s.coroutines;
    asio::steady_timer all_done{executor, asio::steady_timer::time_point::max()};
    for (int i = 1; i <= s.coroutines; ++i) {
        asio::co_spawn(executor, s.no_lock ? take_turns_without_lock(s, i) : take_turns(s, lock, i),
                       [&](std::exception_ptr failure) {
                           rethrow(failure);
                           if (--running == 0) {
                               all_done.cancel();
                           }
                       });
    }
    co_await all_done.async_wait(asio::as_tuple(asio::deferred));

    if (!s.no_lock) {
        co_await zk.async_close();
    }
    report({demo::happening::done});
}

} // namespace

int main(int argc, char** argv)
{
    settings s;
    try {
        s = parse(argc, argv);
    } catch (const bad_usage& mistake) {
        std::cerr << "turn_taker: " << mistake.what() << "; see --help\n";
        return 2;
    }
    if (s.help) {
        std::cout << help;
        return 0;
    }

    asio::io_context context{1};
    colock::client zk{context, {.hosts = s.hosts, .session_timeout = s.session, .tick = s.tick}};
    try {
        if (::access(s.file.c_str(), F_OK) != 0) {
            demo::write_record(s.file, {});
        }
        asio::co_spawn(context, run(s, zk), rethrow);
        context.run();
        return 0;
    } catch (const std::exception& failure) {
        std::cerr << "turn_taker " << s.name << ": " << failure.what();
        if (const auto detail = zk.last_error_detail(); !detail.empty()) {
            std::cerr << " (" << detail << ')';
        }
        std::cerr << '\n';
        return 1;
    }
}
