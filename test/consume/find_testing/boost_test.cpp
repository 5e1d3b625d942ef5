#define BOOST_TEST_MODULE orders
#define BOOST_TEST_DYN_LINK
#include "loss.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_CASE(a_holder_is_told_of_its_loss)
{
    BOOST_TEST((why_it_is_lost() == colock::condition::lock_lost));
}
