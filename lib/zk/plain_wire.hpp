// Plain TCP: the socket is the C client's own.
#pragma once

#include "zk/wire.hpp"

#include <memory>
#include <string>

namespace colock::zk {

// `address` is numeric.
[[nodiscard]] std::unique_ptr<wire> make_plain_wire(const strand_type& strand, std::string address);

} // namespace colock::zk
