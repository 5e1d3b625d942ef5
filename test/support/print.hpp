// How Boost.Test prints colock's types when a check fails.
#ifndef COLOCK_TEST_SUPPORT_PRINT_HPP
#define COLOCK_TEST_SUPPORT_PRINT_HPP

#include <colock/client.hpp>
#include <colock/error.hpp>
#include <colock/node.hpp>

#include <ostream>

namespace colock {

inline std::ostream& boost_test_print_type(std::ostream& out, errc e)
{
    return out << make_error_code(e) << " (" << make_error_code(e).message() << ')';
}

inline std::ostream& boost_test_print_type(std::ostream& out, zookeeper_errc e)
{
    return out << make_error_code(e) << " (" << make_error_code(e).message() << ')';
}

inline std::ostream& boost_test_print_type(std::ostream& out, condition c)
{
    return out << make_error_condition(c).message();
}

inline std::ostream& boost_test_print_type(std::ostream& out, watch_event_type type)
{
    constexpr const char* names[] = {"?", "created", "deleted", "changed", "children_changed"};
    return out << names[static_cast<int>(type)];
}

inline std::ostream& boost_test_print_type(std::ostream& out, connection_state state)
{
    constexpr const char* names[] = {"idle", "connecting", "connected", "suspended", "closed"};
    return out << names[static_cast<int>(state)];
}

} // namespace colock

#endif
