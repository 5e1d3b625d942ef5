#ifndef COLOCK_TEST_SUPPORT_PASSWORD_OF_HPP
#define COLOCK_TEST_SUPPORT_PASSWORD_OF_HPP

#include <colock/client.hpp>
#include <colock/detail/access.hpp>

#include <string>

namespace colock::test {

/// The password of a client's session, for kill_session(). The client keeps it to itself otherwise.
[[nodiscard]] inline std::string password_of(const client& c)
{
    return detail::access::session_password(c);
}

} // namespace colock::test

#endif
