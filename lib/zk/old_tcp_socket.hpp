// The socket of a connection that the client has given up, on a descriptor.
#pragma once

#include "zk/old_sockets.hpp"
#include "zk/strand.hpp"

#include <memory>

namespace colock::zk {

// Takes the descriptor.
[[nodiscard]] std::shared_ptr<old_socket> make_old_socket(const strand_type& strand,
                                                          int descriptor);

} // namespace colock::zk
