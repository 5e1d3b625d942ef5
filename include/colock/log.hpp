// The log sink: why nothing happens.
#ifndef COLOCK_LOG_HPP
#define COLOCK_LOG_HPP

#include <functional>
#include <string_view>

namespace colock {

enum class log_level { debug, info, warning, error };

/// Receives what the client does and why: connecting, failing, reconnecting, sessions and locks lost; and at
/// `log_level::debug` why an acquisition has to wait, and for whom. docs/log.md lists the lines about locks.
///
/// The function gets lines of the level `client_options::log_threshold` and above. What other users have written, such as
/// the data of a holder's node, is in a line with '?' in place of a quote and of whatever is no printable ASCII.
///
/// Called on the client's internal strand, one call at a time per client, never with the empty string.
/// It must not throw and should return soon. It may start operations of the client.
using log_sink = std::function<void(log_level level, std::string_view message)>;

} // namespace colock

#endif
