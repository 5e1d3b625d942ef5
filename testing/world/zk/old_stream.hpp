// A connection of the simulated world that the client has given up.
#pragma once

#include "ensemble/network.hpp"
#include "zk/old_sockets.hpp"
#include "zk/strand.hpp"

#include <memory>

namespace colock::simulated {

// `ended`: the end of what the server sends has arrived.
[[nodiscard]] std::shared_ptr<colock::zk::old_socket>
make_old_stream(const colock::zk::strand_type& strand, std::shared_ptr<stream> connection,
                bool ended);

} // namespace colock::simulated
