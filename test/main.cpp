// main() of every test program.
#define BOOST_TEST_ALTERNATIVE_INIT_API
#define BOOST_TEST_NO_MAIN
#ifdef COLOCK_BOOST_TEST_FROM_HEADERS
#include <boost/test/included/unit_test.hpp>
#else
#include <boost/test/unit_test.hpp>
#endif

#include <cstdlib>

namespace {

bool initialise()
{
    return true;
}

} // namespace

int main(int argc, char** argv)
{
    // A crash ends the program with its signal, and a sanitizer reports it, instead of Boost.Test.
    ::setenv("BOOST_TEST_CATCH_SYSTEM_ERRORS", "no", 0);
    return boost::unit_test::unit_test_main(&initialise, argc, argv);
}
