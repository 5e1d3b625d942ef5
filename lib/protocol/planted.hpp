// Places where a test plants a fault, by its name, at compile time: the walks have to find it (test/model/mutations.sh).
#pragma once

#include <string_view>

namespace colock::protocol {

#ifdef COLOCK_PLANTED
consteval bool planted(std::string_view fault)
{
    return fault == COLOCK_PLANTED;
}
#else
consteval bool planted(std::string_view)
{
    return false;
}
#endif

} // namespace colock::protocol
