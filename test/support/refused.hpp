#ifndef COLOCK_TEST_SUPPORT_REFUSED_HPP
#define COLOCK_TEST_SUPPORT_REFUSED_HPP

#include <support/admin_session.hpp>

namespace colock::test {

/// ZooKeeper's code for which an attempt of an `admin_session` is refused: 0 when it is not.
template <class Attempt>
int refused(Attempt&& attempt)
{
    try {
        attempt();
        return 0;
    } catch (const admin_error& e) {
        return e.code();
    }
}

} // namespace colock::test

#endif
