// The end of a process by a signal that it has heard.
#include "connect/until_signal.hpp"

#include <support/temporary_directory.hpp>
#include <support/wait_until.hpp>

#include "run/inherited_signals.hpp"
#include "run/job.hpp"
#include "run/terminal.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

namespace colock::test::until_signal_test {

namespace asio = boost::asio;
using namespace colock::cli;
using namespace std::chrono_literals;

namespace {

// As a client does for its session.
struct last_words {
    explicit last_words(int file) : file_{file} {}
    last_words(const last_words&) = delete;
    last_words& operator=(const last_words&) = delete;
    ~last_words() { [[maybe_unused]] const auto size = ::write(file_, "w", 1); }

private:
    int file_;
};

asio::awaitable<int> clean_up_for_ever(int file)
{
    const last_words own{file};
    asio::steady_timer never{co_await asio::this_coro::executor,
                             std::chrono::steady_clock::time_point::max()};
    co_await keep_on();
    co_await never.async_wait(asio::use_awaitable);
    co_return 0;
}

} // namespace

BOOST_AUTO_TEST_SUITE(until_signal)

BOOST_AUTO_TEST_CASE(a_second_signal_destroys_what_there_is)
{
    int ends[2];
    BOOST_REQUIRE(::pipe(ends) == 0);
    ::sigset_t held;
    ::sigemptyset(&held);
    ::sigaddset(&held, SIGINT);
    ::sigprocmask(SIG_BLOCK, &held, nullptr); // until the child hears it
    const auto child = ::fork();
    if (child == 0) {
        run_until_signal([&] {
            ::sigprocmask(SIG_UNBLOCK, &held, nullptr);
            return clean_up_for_ever(ends[1]);
        });
        ::_exit(0);
    }
    ::sigprocmask(SIG_UNBLOCK, &held, nullptr);
    ::close(ends[1]);
    int status = 0;
    BOOST_REQUIRE(wait_until(
        [&] {
            ::kill(child, SIGINT);
            return ::waitpid(child, &status, WNOHANG) == child;
        },
        60s));
    BOOST_TEST(WIFSIGNALED(status));
    BOOST_TEST(WTERMSIG(status) == SIGINT);
    char said = 0;
    BOOST_TEST(::read(ends[0], &said, 1) == 1);
    ::close(ends[0]);
}

// Which would have the passwords of --auth in it.
BOOST_AUTO_TEST_CASE(an_end_by_a_signal_leaves_no_core)
{
    ::rlimit cores{};
    ::getrlimit(RLIMIT_CORE, &cores);
    if (cores.rlim_max == 0) {
        BOOST_TEST_MESSAGE("no process leaves a core here");
        return;
    }
    for (const bool of_wait : {false, true}) {
        const temporary_directory files;
        const auto child = ::fork();
        if (child == 0) {
            cores.rlim_cur = cores.rlim_max;
            ::setrlimit(RLIMIT_CORE, &cores);
            [[maybe_unused]] const int failed = ::chdir(files.path().c_str());
            if (of_wait) {
                asio::io_context context;
                asio::signal_set signals{context};
                const inherited_signals inherited;
                const terminal tty;
                job{inherited, tty, signals}.pass_on(SIGQUIT);
            } else {
                end_by(SIGQUIT);
            }
            ::_exit(0);
        }
        int status = 0;
        BOOST_TEST(::waitpid(child, &status, 0) == child);
        BOOST_TEST(WIFSIGNALED(status));
        BOOST_TEST(WTERMSIG(status) == SIGQUIT);
        BOOST_TEST(!WCOREDUMP(status));
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::until_signal_test
