// What the programs of this folder have in common: they take a lock and write a note. While they ask for its text they block
// their thread, so nobody can tell them that they have lost the lock. Only the store can refuse what they write then.
#ifndef COLOCK_EXAMPLES_FENCE_NOTE_HPP
#define COLOCK_EXAMPLES_FENCE_NOTE_HPP

#include <colock/colock.hpp>
#include <colock/fence/fenced.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <functional>
#include <iostream>
#include <string>

namespace note {

namespace asio = boost::asio;

inline std::string ask(const std::string& question)
{
    std::cout << colock::printable(question) << std::endl; // others have written the old text
    std::string line;
    std::getline(std::cin, line);
    return line;
}

using body = std::function<asio::awaitable<void>(colock::client&, const colock::unique_lock&)>;

// Returns what main() returns: 0 when the body has written.
inline int under_lock(const std::string& hosts, const body& write)
{
    asio::io_context context;
    colock::client zk{context, {.hosts = hosts}};
    colock::mutex turns{zk, "/locks/note"};
    bool written = false;
    const auto run = [&]() -> asio::awaitable<void> {
        co_await zk.async_connect();
        co_await turns.async_with_lock(
            [&](const colock::unique_lock& held) -> asio::awaitable<void> {
                co_await write(zk, held);
                written = true; // whatever becomes of the lock now
                std::cout << "written" << std::endl;
            });
        co_await zk.async_close();
    };
    try {
        asio::co_spawn(context, run(), [](std::exception_ptr e) {
            if (e) {
                std::rethrow_exception(e);
            }
        });
        context.run();
    } catch (const boost::system::system_error& e) {
        if (!written) {
            std::cout << (e.code() == colock::errc::fenced ? "refused: " : "failed: ") << e.what()
                      << std::endl;
        }
    } catch (const std::exception& e) {
        std::cout << "failed: " << e.what() << std::endl;
    }
    return written ? 0 : 1;
}

} // namespace note

#endif
