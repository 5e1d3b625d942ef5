// The log sink: what the client does, and why nothing happens.
#ifndef COLOCK_LOG_HPP
#define COLOCK_LOG_HPP

#include <colock/detail/config.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace colock {

/// The importance of a line of the log.
/// Between the numbers there is room.
enum class log_level { debug = 10, info = 20, warning = 30, error = 40 };

/// The name of the value, such as "error"; "unknown" of a number that is none of them.
[[nodiscard]] constexpr std::string_view to_string(log_level value) noexcept
{
    switch (value) {
    case log_level::debug: return "debug";
    case log_level::info: return "info";
    case log_level::warning: return "warning";
    case log_level::error: return "error";
    }
    return "unknown";
}

/// Receives what the client does and why: connecting, failing, reconnecting, sessions and locks lost; and at
/// `log_level::debug` why an acquisition has to wait, and for whom. docs/log.md lists the lines about locks.
///
/// The function receives lines of the level `client_options::log_threshold` and above. Each is one line, and `printable`,
/// whatever other users have written, such as the data of a holder's node, and whatever a server has sent.
///
/// Called on the client's internal strand, one call at a time per client, never with the empty string.
/// It must not throw and should return soon. It may start operations of the client.
using log_sink = std::function<void(log_level level, std::string_view message)>;

/// Text that others have written, such as the data of a node, for a log or a terminal. Bytes that are no part of a
/// printable character in UTF-8 are written as `\xNN`: control characters, among them the beginnings of escape sequences
/// and lines; characters that have no width or turn the direction of the text; and what is no UTF-8. At
/// most `most` bytes are written so, and `...` after them where there is more. Printable text stays as it is.
///
/// ```cpp
/// std::cout << "held by " << colock::printable((co_await zk.async_get(path)).data) << '\n';
/// ```
///
/// The lines of the log, the texts of `diagnostics`, and `client::last_error_detail` are printable already.
/// Thread safety: may be called from several threads at once.
[[nodiscard]] COLOCK_DECL std::string printable(std::string_view text, std::size_t most = 4096);

namespace detail {

// The limit for colock's own text: no line is longer.
inline constexpr std::size_t longest_line = 16'384;

} // namespace detail

} // namespace colock

#endif
