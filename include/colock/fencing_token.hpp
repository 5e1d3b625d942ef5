// A number that grows with every exclusive grant of a lock.
#ifndef COLOCK_FENCING_TOKEN_HPP
#define COLOCK_FENCING_TOKEN_HPP

#include <colock/detail/config.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace colock {

/// A 128-bit number that is greater than that of every earlier grant of the same lock that conflicts with this one,
/// whatever happens to the lock's directory. The tokens of readers, who share the lock, have no order. A store that
/// remembers the greatest token it has seen and refuses smaller ones is safe from a holder that was paused and does not
/// yet know that it lost the lock.
///
/// It is ZooKeeper's transaction number of the lock node's creation, and a counter below it. Ordered, hashed by
/// `std::hash`, and printed as 32 hexadecimal digits, whose order as text is the same. The default one is smaller
/// than every token of a grant. A value type: distinct objects are safe to use from several threads.
///
/// A store that keeps tokens as text reads them back by `parse`:
///
/// ```cpp
/// const auto newest = colock::fencing_token::parse(text);
/// const bool is_stale = newest && held.token() < *newest;
/// std::cout << (is_stale ? "refused" : "accepted") << ": " << held.token() << std::endl;
/// ```
class fencing_token {
public:
    /// Less than the token of every grant.
    constexpr fencing_token() = default;
    /// The token of these two halves.
    constexpr fencing_token(std::uint64_t high, std::uint64_t low) noexcept : high_{high}, low_{low}
    {
    }

    /// Reads what `to_string` writes: 32 hexadecimal digits, of either case, and nothing else. Empty when it is
    /// something else.
    [[nodiscard]] COLOCK_DECL static std::optional<fencing_token>
    parse(std::string_view text) noexcept;

    /// The transaction that created the lock's node.
    [[nodiscard]] constexpr std::uint64_t high() const noexcept { return high_; }
    /// Counts the grants of the lock on its client.
    [[nodiscard]] constexpr std::uint64_t low() const noexcept { return low_; }

    /// By `high()`, then by `low()`.
    constexpr auto operator<=>(const fencing_token&) const = default;

private:
    std::uint64_t high_ = 0;
    std::uint64_t low_ = 0;
};

/// 32 hexadecimal digits, in the order of the tokens.
[[nodiscard]] COLOCK_DECL std::string to_string(const fencing_token& token);
/// Writes what `to_string` returns.
COLOCK_DECL std::ostream& operator<<(std::ostream& out, const fencing_token& token);

} // namespace colock

template <>
struct std::hash<colock::fencing_token> {
    [[nodiscard]] std::size_t operator()(const colock::fencing_token& token) const noexcept
    {
        // The high half tells most tokens apart; the odd factor spreads what is below it.
        return std::hash<std::uint64_t>{}(token.high() ^ (token.low() * 0x9e3779b97f4a7c15));
    }
};

#endif
