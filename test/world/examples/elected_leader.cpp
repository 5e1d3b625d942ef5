// The coroutines of examples/elected_leader.cpp in virtual time, unchanged.
#include "fast.hpp"

#define main main_of_the_example
#include "../../../examples/elected_leader.cpp"
#undef main

namespace world::examples {

BOOST_AUTO_TEST_SUITE(world_of_elected_leader)

BOOST_AUTO_TEST_CASE(another_process_leads_when_the_leader_is_killed)
{
    const printed output;
    colock::testing::world w{1};
    for (const std::string name : {"alpha", "bravo", "charlie"}) {
        w.start_process(name, [name](auto& context, std::string hosts) -> asio::awaitable<void> {
            colock::client zk{context, {.hosts = hosts}};
            co_await run(zk, name);
        });
    }
    run_fast(w, 1h);
    BOOST_TEST(output.count("leading, ") == 1U);
    w.kill("alpha");
    w.kill("bravo");
    run_fast(w, 1h);
    BOOST_TEST(output.count("the leader is charlie") != 0U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace world::examples
