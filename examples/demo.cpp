// The demo: several processes take turns at updating one file, with nothing but colock between them.
// One is killed while it holds the lock, another one loses its connection. Then the same without the
// lock, to see that the lock was what kept the count right.
//
// Needs no server: it has one in memory, or starts a private ZooKeeper, and ends it.
#include <colock/testing/server.hpp>

#include "demo/process.hpp"
#include "demo/proxy.hpp"
#include "demo/race.hpp"
#include "demo/timeline.hpp"
#include "demo/verdict.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace fs = std::filesystem;
namespace asio = boost::asio;

namespace {

constexpr std::string_view help =
    R"(demo: processes take turns at one file, with colock between them

usage: demo [--zookeeper]

Starts a server and five processes, shows who holds the lock and who waits for it, cuts a connection,
kills a holder, and compares the count in the file with the number of turns. Then lets the same
processes run without the lock. Takes about ten seconds; exit status 0 when all is as it has to be.
Ctrl-C ends it at any time; it leaves nothing behind. NO_COLOR=1 turns colours off.

The server is that of `colock serve`: ZooKeeper's protocol, in memory. With --zookeeper it is a private
ZooKeeper, which needs Java, and the program private_zookeeper in the directory of this one.
)";

constexpr std::chrono::milliseconds session{3000}, tick{500}, hold{50};

// The directory of this program.
fs::path beside_me()
{
    return fs::read_symlink("/proc/self/exe").parent_path();
}

class temporary_directory {
public:
    temporary_directory()
    {
        auto name = (fs::temp_directory_path() / "colock-demo-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) {
            throw std::system_error{errno, std::generic_category(),
                                    "cannot make a directory " + name};
        }
        path_ = name;
    }
    temporary_directory(const temporary_directory&) = delete;
    temporary_directory& operator=(const temporary_directory&) = delete;
    ~temporary_directory()
    {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }

    [[nodiscard]] const fs::path& path() const noexcept { return path_; }

private:
    fs::path path_;
};

// The server of `colock serve`, or a real one. It is there as long as this object.
class some_server {
public:
    asio::awaitable<void> start(bool zookeeper)
    {
        if (zookeeper) {
            co_await start_zookeeper(co_await asio::this_coro::executor);
        } else {
            hosts = in_memory_.emplace(colock::testing::server_options{.least_session = 2 * tick})
                        .hosts();
        }
    }

    std::string hosts;

private:
    asio::awaitable<void> start_zookeeper(const asio::any_io_executor& executor)
    {
        const std::vector<std::string> command{(beside_me() / "private_zookeeper").string(),
                                               "--tick", std::to_string(tick.count())};
        process_.emplace(executor, command,
                         demo::process::ending{SIGTERM, std::chrono::seconds{20}});
        constexpr std::string_view words = "connect string: ";
        while (!process_->at_end()) {
            co_await process_->wait_readable();
            for (const auto& line : process_->read_lines()) {
                if (line.starts_with(words)) {
                    hosts = line.substr(words.size());
                    co_return;
                }
            }
        }
        throw std::runtime_error{"private_zookeeper did not start; it says above why"};
    }

    std::optional<colock::testing::server> in_memory_;
    std::optional<demo::process> process_;
};

demo::plan common_plan(const fs::path& file)
{
    demo::plan p;
    p.names = {"alpha", "bravo", "charlie", "delta", "echo"};
    p.file = file.string();
    p.session = session;
    p.command = {(beside_me() / "turn_taker").string(),
                 "--file",
                 p.file,
                 "--coroutines",
                 std::to_string(p.coroutines),
                 "--hold",
                 std::to_string(hold.count()),
                 "--session",
                 std::to_string(session.count()),
                 "--tick",
                 std::to_string(tick.count())};
    return p;
}

asio::awaitable<bool> run_with_lock(demo::plan p, bool zookeeper, demo::timeline& shown)
{
    using demo::tone;
    shown.line(tone::plain, zookeeper ? "Starting a private ZooKeeper ..."
                                      : "Starting a server in memory, as colock serve does ...");
    some_server server;
    co_await server.start(zookeeper);
    demo::proxy way{co_await asio::this_coro::executor, server.hosts};
    p.hosts = server.hosts;
    p.way = &way;

    shown.line(tone::plain, "... it listens at " + p.hosts + ", and for " + p.names.back() +
                                " at a proxy at " + way.hosts() + ".\n");
    shown.line(
        tone::plain,
        std::to_string(p.names.size()) + " processes with " + std::to_string(p.coroutines) +
            " coroutines each. A turn reads a number from the file, takes " +
            std::to_string(hold.count()) +
            " ms,\nand writes the number plus one. The marks, one for each coroutine:\n"
            "  #  holds the lock   .  waits for it   ~  waits without a connection   x  dead\n");
    const auto result = co_await demo::race{co_await asio::this_coro::executor, p, shown}.run();
    shown.line(tone::plain, "");
    co_return demo::judge(result, shown);
}

// A control that shows nothing proves nothing: when no update is lost by accident, it is repeated.
asio::awaitable<bool> run_without_lock(demo::plan p, demo::timeline& shown)
{
    using demo::tone;
    p.lines = 6;
    for (int attempt = 1; attempt <= 4; ++attempt) {
        shown.line(tone::plain, "\nControl: the same without the lock.\n");
        const auto result = co_await demo::race{co_await asio::this_coro::executor, p, shown}.run();
        const auto lost = demo::lost_updates(result);
        shown.line(tone::plain, "            ...\n");
        for (const auto& complaint : result.complaints) {
            shown.line(tone::bad, "  FAIL  " + complaint);
        }
        if (!result.complaints.empty()) {
            co_return false;
        }
        if (lost != 0) {
            shown.line(tone::good,
                       "  PASS  control: " + demo::counted(result.turns.size(), "turn") +
                           ", but the file says " + std::to_string(result.count) + ": " +
                           demo::counted(static_cast<std::size_t>(lost), "update") +
                           " lost, as expected");
            co_return true;
        }
        shown.line(tone::warning, "  Nothing was lost, by accident. Once more, with more turns.");
        p.turns *= 2;
    }
    shown.line(tone::bad,
               "  FAIL  control: nothing was lost, so that the first run proves nothing");
    co_return false;
}

asio::awaitable<void> run(const fs::path& directory, bool zookeeper, demo::timeline& shown,
                          bool& good)
{
    const bool with =
        co_await run_with_lock(common_plan(directory / "with-lock"), zookeeper, shown);
    const bool without = co_await run_without_lock(common_plan(directory / "without-lock"), shown);
    good = with && without;
    shown.line(good ? demo::tone::good : demo::tone::bad,
               good ? "\nPASS: the lock kept the count right, through a cut and a kill."
                    : "\nFAIL");
}

} // namespace

int main(int argc, char** argv)
{
    const std::string_view option{argc == 2 ? argv[1] : ""};
    const bool zookeeper = option == "--zookeeper";
    if (argc > 1 && !zookeeper) {
        const bool asked = option == "--help";
        (asked ? std::cout : std::cerr) << help;
        return asked ? 0 : 2;
    }
    std::signal(SIGPIPE, SIG_IGN); // `demo | head` ends it like any other error
    try {
        demo::timeline shown;
        const temporary_directory directory;
        asio::io_context context{1};
        bool good = false;
        int interrupted = 0;
        asio::signal_set signals{context, SIGINT, SIGTERM, SIGHUP};
        signals.async_wait([&](boost::system::error_code, int signal) {
            interrupted = signal;
            context.stop(); // its destructor ends the processes
        });
        asio::co_spawn(context, run(directory.path(), zookeeper, shown, good),
                       [&](std::exception_ptr failure) {
                           signals.cancel();
                           if (failure) {
                               std::rethrow_exception(failure);
                           }
                       });
        context.run();
        if (interrupted != 0) {
            signals.clear();
            for (const int each : {SIGINT, SIGTERM, SIGHUP}) {
                std::signal(each,
                            SIG_IGN); // the ending is not to be interrupted; it takes a second
            }
            std::cout << "\ninterrupted; ending all that was started" << std::endl;
            return 128 + interrupted;
        }
        return good ? 0 : 1;
    } catch (const std::exception& failure) {
        std::cerr << "\ndemo: " << failure.what() << '\n';
        return 1;
    }
}
