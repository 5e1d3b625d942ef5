// The end of a process beside a thread that goes on.
#include "program/detached_thread.hpp"

#include <support/sanitizers.hpp>

#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>

namespace colock::test::detached_thread_test {

using namespace colock::cli;

namespace {

int exits = -1; // the end of a pipe that hears of exit()

// What a child of this process writes, and its status.
template <class Body>
std::pair<std::string, int> said_by_child(Body body)
{
    int ends[2];
    BOOST_REQUIRE(::pipe(ends) == 0);
    std::cout.flush(); // the words of this process are not the child's
    const auto child = ::fork();
    if (child == 0) {
        ::dup2(ends[1], STDOUT_FILENO);
        exits = ends[1];
        std::atexit([] { [[maybe_unused]] const auto size = ::write(exits, "exit", 4); });
        body();
    }
    ::close(ends[1]);
    std::string text;
    char some[64];
    ssize_t size = 0;
    while ((size = ::read(ends[0], some, sizeof some)) > 0) {
        text.append(some, static_cast<std::size_t>(size));
    }
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    return {text, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

} // namespace

BOOST_AUTO_TEST_SUITE(detached_thread)

BOOST_AUTO_TEST_CASE(a_thread_that_goes_on_meets_no_destructor)
{
    const auto said = said_by_child([] {
        start_detached([] { ::pause(); });
        std::cout << "flushed, no ";
        leave(3);
    });
    BOOST_TEST(said.first == "flushed, no ");
    BOOST_TEST(said.second == 3);
}

#if !defined(COLOCK_TEST_THREAD_SANITIZER) // with which nobody is alone: it has a thread
BOOST_AUTO_TEST_CASE(who_is_alone_exits_as_usual)
{
    const auto said = said_by_child([] { leave(4); });
    BOOST_TEST(said.first == "exit");
    BOOST_TEST(said.second == 4);
}
#endif

BOOST_AUTO_TEST_CASE(the_thread_takes_no_signal)
{
    const auto said = said_by_child([] {
        int ends[2];
        [[maybe_unused]] const int made = ::pipe(ends);
        start_detached([end = ends[1]] {
            ::sigset_t blocked;
            ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
            const char answer = ::sigismember(&blocked, SIGTERM) == 1 ? 'y' : 'n';
            [[maybe_unused]] const auto size = ::write(end, &answer, 1);
            ::pause();
        });
        char answer = 0;
        [[maybe_unused]] const auto size = ::read(ends[0], &answer, 1);
        ::sigset_t own;
        ::pthread_sigmask(SIG_BLOCK, nullptr, &own);
        leave(answer == 'y' && ::sigismember(&own, SIGTERM) == 0 ? 0 : 1);
    });
    BOOST_TEST(said.second == 0);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::detached_thread_test
