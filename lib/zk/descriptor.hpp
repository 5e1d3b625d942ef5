// What Linux does with a descriptor in one call, and other systems in two: then a process that another thread starts in
// between inherits the descriptor. COLOCK_PORTABLE (lib/CMakeLists.txt) selects the latter.
#pragma once

#include <string>

namespace colock::zk {

// Why this machine cannot reach a server, by the error of connect(); "" for other errors, such as a server that refuses.
[[nodiscard]] std::string unreachable(int error);

// A non-blocking TCP socket that is closed on exec; -1 with errno when there is none.
[[nodiscard]] int new_tcp_socket(int family) noexcept;

// The same for two connected ones of this machine.
[[nodiscard]] bool new_socket_pair(int (&ends)[2]) noexcept;

// Makes `descriptor` another name for `original`. False when the system could not.
bool replace_descriptor(int descriptor, int original) noexcept;

// Whether this process may have another one.
[[nodiscard]] bool are_descriptors_left() noexcept;

// `on`: a TCP socket keeps what is written until a call with `on` false, so that it goes in as few segments as it can.
// Nothing happens where the system has no such thing.
void cork(int socket, bool on) noexcept;

} // namespace colock::zk
