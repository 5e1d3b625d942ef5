// One timer for a deadline that moves out all the time.
#include "zk/moving_deadline.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>

using namespace std::chrono_literals;
using colock::zk::moving_deadline;

namespace {

struct scene {
    boost::asio::io_context io;
    colock::zk::strand_type strand{
        colock::zk::strand_base{boost::asio::any_io_executor{io.get_executor()}}};
    moving_deadline d{strand};
    std::string called;

    void wait(moving_deadline::clock::duration time, char name)
    {
        d.wait(moving_deadline::clock::now() + time, [this, name] { called += name; });
    }
    void run()
    {
        io.restart();
        io.run();
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(moving_deadlines, scene)

BOOST_AUTO_TEST_CASE(a_deadline_that_moves_out_leaves_the_timer_alone)
{
    wait(10ms, 'a');
    wait(1h, 'b');
    run();
    BOOST_TEST(called == "a"); // early
    BOOST_TEST(!d.is_near());
    wait(1ms, 'c');
    BOOST_TEST(d.is_near());
    run();
    BOOST_TEST(called == "ac");
}

BOOST_AUTO_TEST_CASE(a_nearer_deadline_sets_it_anew)
{
    wait(1h, 'a');
    wait(1ms, 'b');
    run();
    BOOST_TEST(called == "b");
}

BOOST_AUTO_TEST_CASE(after_its_stop_it_calls_nothing)
{
    wait(1h, 'a');
    d.stop();
    run();
    BOOST_TEST(called.empty());
}

BOOST_AUTO_TEST_SUITE_END()
