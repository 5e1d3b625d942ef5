// A number that grows with every grant of a lock.
#ifndef COLOCK_FENCING_TOKEN_HPP
#define COLOCK_FENCING_TOKEN_HPP

#include <colock/detail/config.hpp>

#include <compare>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace colock {

/// A 128-bit number that is greater for every later grant of the same lock, whatever happens to the
/// lock's directory. A store that remembers the greatest token it has seen and refuses smaller ones is
/// safe from a holder that was paused and does not yet know that it lost the lock.
///
/// It is ZooKeeper's transaction number of the lock node's creation, and a counter below it. Ordered,
/// and printed as 32 hexadecimal digits, whose order as text is the same. The default one is smaller
/// than every token of a grant. A value type: distinct objects are safe to use from several threads.
class fencing_token {
public:
    constexpr fencing_token() = default;
    constexpr fencing_token(std::uint64_t high, std::uint64_t low) noexcept : high_{high}, low_{low}
    {
    }

    /// The transaction that created the lock's node.
    [[nodiscard]] constexpr std::uint64_t high() const noexcept { return high_; }
    /// Counts the grants of the lock on its client.
    [[nodiscard]] constexpr std::uint64_t low() const noexcept { return low_; }

    constexpr auto operator<=>(const fencing_token&) const = default;

private:
    std::uint64_t high_ = 0;
    std::uint64_t low_ = 0;
};

/// 32 hexadecimal digits, in the order of the tokens.
[[nodiscard]] COLOCK_DECL std::string to_string(const fencing_token& token);
COLOCK_DECL std::ostream& operator<<(std::ostream& out, const fencing_token& token);

} // namespace colock

#endif
