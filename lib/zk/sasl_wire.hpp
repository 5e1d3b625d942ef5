// SASL: before the C client gets the answer to its handshake, the server learns who the client is.
#pragma once

#include "zk/sasl_mechanism.hpp"
#include "zk/strand.hpp"
#include "zk/wire.hpp"

#include <functional>
#include <memory>

namespace colock::zk {

// The same way, with the exchange on it. `moved` is called on the strand when there is something to carry or to receive that the
// socket does not show; not after close().
[[nodiscard]] std::unique_ptr<wire> with_sasl(std::unique_ptr<wire> way, const strand_type& strand,
                                              std::shared_ptr<sasl_mechanism> mechanism,
                                              std::function<void()> moved);

} // namespace colock::zk
