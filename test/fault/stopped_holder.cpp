// A process that is stopped while it holds a lock, and goes on where it was.
//
//   stopped_holder HOSTS PATH FILE DATA
//
// It takes the lock at PATH, writes to the fenced store FILE, prints "held <token>", and is busy until it
// reads a line. It is stopped and continued meanwhile, and does not know. It prints what it finds then, each
// after a blank:
//   0|1            whether its guard says that it holds the lock
//   lost           why not
//   first          what came of its first guarded write, to the node DATA
//   settled        the same, after repeating it while nobody knows
//   refused|accepted  what the store says to its token
//   lost           the reason once more
#include <colock/colock.hpp>
#include <support/fenced_store.hpp>
#include <support/link.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <thread>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

colock::error_code write_guarded(colock::client& zk, const colock::unique_lock& held,
                                 const std::string& node)
{
    // No exception: who releases one last is counted within libstdc++, where thread sanitizer does not see it.
    return zk
        .async_multi(held.guarded({colock::set_op(node, "late")}),
                     asio::use_future([](colock::error_code ec, const auto&) { return ec; }))
        .get();
}

void work(asio::io_context& io, char** argv)
{
    const std::string data = argv[4];
    colock::test::fenced_store store{argv[3]};
    colock::client zk{
        io, colock::test::link_client(
                {.hosts = argv[1], .session_timeout = 4s, .connect_timeout = 30s, .tick = 200ms})};
    zk.async_connect(asio::use_future).get();
    colock::mutex turns{zk, argv[2]};
    colock::unique_lock held = turns.async_lock(asio::use_future).get();
    if (!store.write(to_string(held.token()), "mine")) {
        throw std::runtime_error("the store refuses the holder");
    }
    std::cout << "held " << held.token() << std::endl;

    std::string line;
    std::getline(std::cin, line);
    // The other thread has just been woken, too: it may know by now, or not yet.
    const auto holds = static_cast<bool>(held);
    const auto lost = held.loss_reason();
    const auto first = write_guarded(zk, held, data);
    auto settled = first;
    while (colock::outcome_unknown(settled)) {
        settled = write_guarded(zk, held, data);
    }
    const bool accepted = store.write(to_string(held.token()), "late");
    std::cout << holds << ' ' << lost << ' ' << first << ' ' << settled << ' '
              << (accepted ? "accepted" : "refused") << ' ' << held.loss_reason() << std::endl;
    zk.async_close(asio::use_future).get();
}

} // namespace

int main(int argc, char** argv)
{
    if (argc != 5) {
        return 2;
    }
    asio::io_context io;
    auto busy = asio::make_work_guard(io);
    std::thread thread{[&] { io.run(); }};
    int status = 0;
    try {
        work(io, argv);
    } catch (const std::exception& e) {
        std::cerr << "stopped_holder: " << e.what() << '\n';
        status = 1;
    }
    busy.reset();
    thread.join();
    return status;
}
