#ifndef COLOCK_TEST_SUPPORT_GET_HPP
#define COLOCK_TEST_SUPPORT_GET_HPP

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <future>

namespace colock::test {

/// The result, which has to be there within a minute.
template <class T>
T get(std::future<T> future)
{
    BOOST_REQUIRE((future.wait_for(std::chrono::seconds{60}) == std::future_status::ready));
    return future.get();
}

} // namespace colock::test

#endif
