// A machine of a static object runs once more after the objects of the main thread are destroyed.
#include "session/machine_runner.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdlib>

namespace colock::test::machine_runner_test {

namespace {

using command = std::array<char, 64>;

struct static_machine {
    colock::detail::machine_runner<command> runner;
    int done = 0;

    void run()
    {
        if (runner.decided().capacity() != 0 && done != 0) {
            std::_Exit(EXIT_FAILURE); // that memory is the thread's, which has none any more
        }
        runner.decided().push_back({});
        runner.run([this](const command&) { ++done; });
    }
    ~static_machine()
    {
        run();
        if (done != 2) {
            std::_Exit(EXIT_FAILURE);
        }
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(runner)

BOOST_AUTO_TEST_CASE(a_machine_runs_after_the_threads_objects)
{
    static static_machine m;
    m.run();
    BOOST_TEST(m.done == 1);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::machine_runner_test
