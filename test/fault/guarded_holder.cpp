// A process with a session guard that takes a lock.
//
//   guarded_holder HOSTS PATH HELPER WHAT [SECONDS]
//
// SECONDS: the session's time-out.
// It prints "held", and then, by WHAT:
//   hold      goes on until it is ended
//   child     forks a child that has all its descriptors, and lives on for a minute
//   exec      becomes another program
//   leave     ends without a word, once there is something to read at the standard input, or its end
//   throw     the same, by an exception that nobody catches
//   below     has the lock below /service, by a chroot and with an identity; then as `hold`
//   close     closes its client, prints "closed", and goes on
//   eat       takes so many megabytes of memory as the standard input says, and goes on
//   move      moves to the servers in a line of the standard input, prints "moved", and goes on
//   consent   as `hold`, but whoever has the other end of the standard input has to consent
// Before that it prints "alone" if wait() knows no child.
#include <colock/colock.hpp>
#include <support/link.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

void work(asio::io_context& io, char** argv)
{
    const std::string what = argv[4];
    const bool waits_for_time_out = what == "exec" || what == "child";
    const std::chrono::seconds timeout{argv[5] != nullptr   ? std::stoi(argv[5])
                                       : waits_for_time_out ? 6
                                                            : 20};
    colock::client_options options{
        .hosts = argv[1],
        .session_timeout = timeout,
        .connect_timeout = 30s,
        .session_guard = {argv[3], what == "consent" ? STDIN_FILENO : -1}};
    if (what == "below") {
        options.chroot = "/service";
        options.credentials = {{"digest", "somebody:secret"}};
    }
    colock::client zk{io, colock::test::link_client(options)};
    zk.async_connect(asio::use_future).get();
    colock::mutex turns{zk, argv[2]};
    const colock::unique_lock held = turns.async_lock(asio::use_future).get();
    if (::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD) {
        std::cout << "alone" << std::endl;
    }
    std::cout << (zk.stats().session_guarded ? "held" : "held without a guard") << std::endl;

    if (what == "child") {
        if (::fork() == 0) {
            ::sleep(60);
            ::_exit(0);
        }
    } else if (what == "exec") {
        ::execl("/bin/sleep", "sleep", "60", nullptr);
    } else if (what == "leave") {
        std::cin.get();
        ::_exit(0);
    } else if (what == "throw") {
        std::cin.get();
        std::thread{[] { throw std::runtime_error{"as intended"}; }}.join();
    } else if (what == "eat") {
        std::size_t megabytes = 0;
        std::cin >> megabytes;
        const std::vector<char> food(megabytes << 20U, 'x');
        std::cout << "eaten" << std::endl;
        std::this_thread::sleep_for(1h);
    } else if (what == "move") {
        std::string hosts;
        std::getline(std::cin, hosts);
        zk.async_set_hosts(hosts, asio::use_future).get();
        std::cout << "moved" << std::endl;
    } else if (what == "close") {
        zk.async_close(asio::use_future).get();
        std::cout << "closed" << std::endl;
    }
    std::this_thread::sleep_for(1h);
}

} // namespace

int main(int argc, char** argv)
{
    if (argc != 5 && argc != 6) {
        return 2;
    }
    asio::io_context io;
    const auto busy = asio::make_work_guard(io);
    std::thread runs{[&] { io.run(); }};
    try {
        work(io, argv);
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
    }
    std::_Exit(1);
}
