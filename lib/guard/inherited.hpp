// The descriptors that a helper process is given.
#pragma once

namespace colock::guard {

inline constexpr int inherited_channel = 3; // what the owner says; it ends with the owner
inline constexpr int inherited_owner = 4;   // a pidfd
inline constexpr int inherited_consent = 5; // if somebody has to consent; then there is an argument
inline constexpr int last_inherited = 5;

} // namespace colock::guard
