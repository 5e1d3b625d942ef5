// The coroutines of examples/shards.cpp in virtual time, unchanged.
#include "fast.hpp"

#define main main_of_the_example
#include "../../../examples/shards.cpp"
#undef main

namespace world::examples {

BOOST_AUTO_TEST_SUITE(world_of_shards)

BOOST_AUTO_TEST_CASE(the_others_do_the_part_of_one_that_was_killed)
{
    const printed output;
    colock::testing::world w{1};
    for (const std::string name : {"alpha", "bravo", "charlie"}) {
        w.start_process(name, [name](auto& context, std::string hosts) -> asio::awaitable<void> {
            colock::client zk{context, {.hosts = hosts, .session_timeout = 4s}};
            co_await run(zk, name);
        });
    }
    run_fast(w, 1h);
    const auto before = output.count("owns ");
    w.kill("alpha");
    run_fast(w, 1h);
    BOOST_TEST(output.count("owns ") > before + 1);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace world::examples
