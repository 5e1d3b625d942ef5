#include "lock/users_of_path.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>

namespace colock::test::users_of_path_test {

namespace {

using namespace std::chrono_literals;
using colock::detail::users_of_path;
using since = std::optional<std::chrono::nanoseconds>;

BOOST_AUTO_TEST_SUITE(users_of_a_path)

// One call: a user may leave before another call could ask since when it was there.
BOOST_AUTO_TEST_CASE(a_suspicion_says_since_when_there_is_a_user)
{
    users_of_path users;
    users.enter(3s);
    BOOST_TEST((users.suspect(4s) == since{3s}));
    BOOST_TEST((users.suspect(4s) == std::nullopt)); // once
    users.leave();
    users.enter(5s);
    BOOST_TEST((users.suspect(6s) == since{5s})); // the next user is another one
}

BOOST_AUTO_TEST_CASE(nobody_is_suspected_who_came_behind_the_waiter_or_has_gone)
{
    users_of_path users;
    BOOST_TEST((users.suspect(4s) == std::nullopt));
    users.enter(5s);
    BOOST_TEST((users.suspect(4s) == std::nullopt));
    users.leave();
    BOOST_TEST((users.suspect(6s) == std::nullopt));
    BOOST_TEST((users.since() == std::nullopt));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace

} // namespace colock::test::users_of_path_test
