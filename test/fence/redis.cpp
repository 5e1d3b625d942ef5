// Redis refuses the late write of an earlier holder.
#include "store_server.hpp"

using namespace colock::test;

namespace {

struct redis : store_server {
    redis()
    {
        if (find_program("redis-server").empty()) {
            skip("redis-server is missing");
        }
        start({"redis-server", "--port", port(), "--bind", "127.0.0.1", "--save", "", "--dir",
               directory()},
              SIGTERM);
        BOOST_REQUIRE(wait_until([&] { return listens(); }, 30s));
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(fence_redis)

BOOST_AUTO_TEST_CASE(a_late_write_is_refused)
{
    const redis store;
    fence_scene{"fenced_redis", "libhiredis-dev", store.port()}.late_write_is_refused();
}

BOOST_AUTO_TEST_SUITE_END()
