#include "loss.hpp"

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_test_macros.hpp>
#else // Catch2 2
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif

TEST_CASE("a holder is told of its loss")
{
    CHECK(why_it_is_lost() == colock::condition::lock_lost);
}
