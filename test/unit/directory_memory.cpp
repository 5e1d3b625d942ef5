// When a client writes to a lock's directory as it joins: only where it is alone, and where nobody has written since.

#include "protocol/directory_memory.hpp"

#include <boost/test/unit_test.hpp>

using colock::protocol::directory_memory;

namespace {

// Used twice in succession by this client alone.
directory_memory used(std::int64_t czxid, std::int64_t number)
{
    directory_memory m;
    m.seen(czxid, 0);
    m.granted(number, false);
    m.granted(number + 1, false);
    return m;
}

} // namespace

BOOST_AUTO_TEST_SUITE(remembering_a_directory)

BOOST_AUTO_TEST_CASE(who_is_alone_looks_whose_it_is)
{
    auto m = used(7, 0);
    BOOST_TEST(!m.expects_nobody());
    BOOST_TEST(m.is_worth_a_look());
    m.known(7, 0, true);
    BOOST_TEST(m.expects_nobody());
    BOOST_TEST(!m.is_worth_a_look());
    BOOST_TEST(m.is_ours(7));
    BOOST_TEST(!m.is_ours(8));
    m.known(7, 1, true); // by its own transaction
    m.granted(2, false);
    BOOST_TEST(m.expects_nobody());
    BOOST_TEST(m.version() == 1);
}

BOOST_AUTO_TEST_CASE(one_that_was_made_here_is_known)
{
    directory_memory m;
    m.known(7, 0, true);
    m.granted(0, false);
    BOOST_TEST(!m.expects_nobody());
    BOOST_TEST(!m.is_worth_a_look());
    m.granted(1, false);
    BOOST_TEST(m.expects_nobody());
}

BOOST_AUTO_TEST_CASE(somebody_elses_is_not_looked_at_again)
{
    auto m = used(7, 0);
    m.known(7, 3, false);
    BOOST_TEST(!m.is_ours(7));
    m.granted(2, false);
    BOOST_TEST(!m.expects_nobody());
    BOOST_TEST(!m.is_worth_a_look());
    m.seen(7, 4);
    m.granted(3, false);
    BOOST_TEST(!m.is_worth_a_look());
}

BOOST_AUTO_TEST_CASE(others_that_come_in_between)
{
    auto m = used(7, 0);
    m.known(7, 0, true);
    m.granted(3, false); // one was there, and is gone
    BOOST_TEST(!m.expects_nobody());
    m.granted(4, false);
    BOOST_TEST(m.expects_nobody());
    m.granted(5, true); // one is there
    BOOST_TEST(!m.expects_nobody());
    m.granted(6, false);
    BOOST_TEST(!m.expects_nobody());
    m.granted(7, false);
    BOOST_TEST(m.expects_nobody());
}

BOOST_AUTO_TEST_CASE(others_that_write)
{
    auto m = used(7, 0);
    m.known(7, 0, true);
    m.seen(7, 1);
    BOOST_TEST(!m.expects_nobody());
    BOOST_TEST(m.is_ours(7)); // as it was when it was read
    BOOST_TEST(m.is_worth_a_look());
    m.known(7, 1, false);
    BOOST_TEST(!m.is_ours(7));
    BOOST_TEST(!m.is_worth_a_look());
}

BOOST_AUTO_TEST_CASE(a_refusal)
{
    auto m = used(7, 0);
    m.known(7, 0, true);
    m.refused();
    BOOST_TEST(!m.expects_nobody());
    BOOST_TEST(!m.is_worth_a_look());
    m.seen(7, 5);
    m.granted(2, false);
    m.granted(3, false);
    BOOST_TEST(!m.expects_nobody());
    BOOST_TEST(m.is_worth_a_look());
}

BOOST_AUTO_TEST_CASE(another_directory)
{
    auto m = used(7, 0);
    m.known(7, 0, true);
    m.seen(8, 0);
    BOOST_TEST(!m.is_ours(8));
    BOOST_TEST(!m.expects_nobody());
    m.granted(2, false); // numbers of the one say nothing about those of the other
    BOOST_TEST(!m.is_worth_a_look());
}

BOOST_AUTO_TEST_SUITE_END()
