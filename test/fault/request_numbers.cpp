// The numbers of requests, which the C client counts from the time of the first one on, have come to their end.
#include <colock/client.hpp>
#include <support/client_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <dlfcn.h>
#include <time.h>

#include <cstddef>
#include <string_view>
#include <vector>

using namespace colock::test;

// In the place of the system's. The C client asks it once: the program has sent some thousand million requests when it begins.
extern "C" time_t time(time_t* to) noexcept
{
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    static bool asked = false;
    Dl_info caller{};
    const bool is_of_c_client =
        ::dladdr(__builtin_return_address(0), &caller) != 0 &&
        std::string_view{caller.dli_fname}.find("libzookeeper") != std::string_view::npos;
    if (is_of_c_client && !asked) {
        asked = true;
        now.tv_sec = -40;
    }
    if (to != nullptr) {
        *to = now.tv_sec;
    }
    return now.tv_sec;
}

BOOST_AUTO_TEST_SUITE(request_numbers, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(no_connection_breaks_at_those_that_are_reserved)
{
    client_scene s;
    s.connect();
    for (std::size_t i = 0; i != 20; ++i) {
        std::vector<outcome<colock::get_result>> together(3);
        for (auto& each : together) {
            s.zk.async_get("/", each.handler());
        }
        for (auto& each : together) {
            BOOST_TEST(code_of(s.io, each) == colock::error_code{});
        }
    }
    BOOST_TEST(s.zk.stats().connections == 1U);
    s.close();
}

BOOST_AUTO_TEST_SUITE_END()
