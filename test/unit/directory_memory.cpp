// When a client writes to a lock's directory as it joins: only where it is alone, and where nobody has written since.

#include "protocol/directory/memory.hpp"

#include <boost/test/unit_test.hpp>

using colock::protocol::directory_memory;

namespace {

// Used twice in succession by this client alone.
directory_memory used()
{
    directory_memory m;
    m.seen(7, 0);
    m.granted_alone(0);
    m.granted_alone(1);
    return m;
}

// And colock's.
directory_memory usable()
{
    auto m = used();
    m.read(7, 0, true);
    m.wrote_signature(7, 1);
    return m;
}

} // namespace

BOOST_AUTO_TEST_SUITE(remembering_a_directory)

BOOST_AUTO_TEST_CASE(who_is_alone_looks_whose_it_is)
{
    auto m = used();
    BOOST_TEST(!m.expects_alone());
    BOOST_TEST(m.is_worth_reading());
    m.read(7, 0, true);
    BOOST_TEST(!m.is_worth_reading());
    BOOST_TEST(!m.expects_alone()); // each directory begins with this version
    BOOST_TEST(m.is_worth_signing());
    m.wrote_signature(7, 1);
    BOOST_TEST(!m.is_worth_signing());
    BOOST_TEST(m.expects_alone());
    BOOST_TEST(m.version() == 1);
    m.wrote_signature(7, 2);
    m.granted_alone(2);
    BOOST_TEST(m.expects_alone());
    BOOST_TEST(m.version() == 2);
}

BOOST_AUTO_TEST_CASE(one_that_was_made_here_is_known)
{
    directory_memory m;
    m.made(7);
    m.granted_alone(0);
    BOOST_TEST(!m.is_worth_signing());
    m.granted_alone(1);
    BOOST_TEST(m.is_worth_signing());
    m.wrote_signature(7, 1);
    BOOST_TEST(m.expects_alone());
}

// However well a client knows a directory: whose it is in a long queue, one that stands in it has to look.
BOOST_AUTO_TEST_CASE(a_long_queue_looks_itself)
{
    auto m = usable();
    BOOST_TEST(!m.is_ours(7)); // somebody may have written to it since
    m.read_in_queue(7, 2, true);
    BOOST_TEST(m.is_ours(7));
    BOOST_TEST(!m.is_ours(8));
    m.seen(7, 3);
    BOOST_TEST(m.is_ours(7)); // a low-water mark
    m.read_in_queue(7, 4, false);
    BOOST_TEST(!m.is_ours(7));
}

BOOST_AUTO_TEST_CASE(somebody_elses_is_not_looked_at_again)
{
    auto m = used();
    m.read(7, 3, false);
    BOOST_TEST(!m.is_ours(7));
    BOOST_TEST(!m.is_writable()); // also when a contender has seen colock's signature there before
    m.granted_alone(2);
    BOOST_TEST(!m.expects_alone());
    BOOST_TEST(!m.is_worth_reading());
    BOOST_TEST(!m.is_worth_signing());
    m.seen(7, 4);
    m.granted_alone(3);
    BOOST_TEST(!m.is_worth_reading());
}

BOOST_AUTO_TEST_CASE(others_that_come_in_between)
{
    auto m = usable();
    m.granted_alone(3); // one was there, and is gone
    BOOST_TEST(!m.expects_alone());
    m.granted_alone(4);
    BOOST_TEST(m.expects_alone());
    m.met_others();
    BOOST_TEST(!m.expects_alone());
    m.granted_alone(6);
    BOOST_TEST(!m.expects_alone());
    m.granted_alone(7);
    BOOST_TEST(m.expects_alone());
}

BOOST_AUTO_TEST_CASE(others_that_write)
{
    auto m = usable();
    m.seen(7, 2);
    BOOST_TEST(!m.expects_alone());
    BOOST_TEST(m.is_worth_reading());
    m.read(7, 2, false);
    BOOST_TEST(!m.is_worth_reading());
}

BOOST_AUTO_TEST_CASE(a_refusal)
{
    auto m = usable();
    m.refused();
    BOOST_TEST(!m.expects_alone());
    BOOST_TEST(!m.is_worth_reading());
    m.seen(7, 5);
    m.granted_alone(2);
    m.granted_alone(3);
    BOOST_TEST(!m.expects_alone());
    BOOST_TEST(m.is_worth_reading());
}

BOOST_AUTO_TEST_CASE(one_that_may_not_be_written_to)
{
    auto m = usable();
    m.forbidden();
    BOOST_TEST(!m.is_writable());
    BOOST_TEST(!m.expects_alone());
    m.seen(7, 5);
    BOOST_TEST(!m.is_worth_reading());
    m.seen(8, 0); // another one
    BOOST_TEST(m.is_writable());
}

BOOST_AUTO_TEST_CASE(another_directory)
{
    auto m = usable();
    m.read_in_queue(7, 1, true);
    m.seen(8, 1);
    BOOST_TEST(!m.is_ours(8));
    BOOST_TEST(!m.expects_alone());
    m.granted_alone(2); // numbers of the one say nothing about those of the other
    BOOST_TEST(!m.is_worth_reading());

    auto unnoticed = usable();
    unnoticed.read_in_queue(7, 1, true);
    unnoticed.wrote_signature(8, 2);
    BOOST_TEST(!unnoticed.is_ours(8));
    unnoticed.granted_alone(0);
    unnoticed.granted_alone(1);
    BOOST_TEST(!unnoticed.expects_alone());
    BOOST_TEST(!unnoticed.is_worth_signing());
}

BOOST_AUTO_TEST_CASE(one_at_a_time_tries)
{
    auto m = usable();
    m.tried();
    BOOST_TEST(!m.expects_alone());
    m.wrote_signature(7, 2);
    BOOST_TEST(!m.expects_alone());
    m.granted_alone(2);
    BOOST_TEST(m.expects_alone());
}

BOOST_AUTO_TEST_SUITE_END()
