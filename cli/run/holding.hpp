// What the supervisor holds, of whichever kind.
#pragma once

#include <colock/held_lock.hpp>
#include <colock/multi_guard.hpp>
#include <colock/permit.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <variant>
#include <vector>

namespace colock::cli {

class holding {
public:
    holding() = default; // nothing
    explicit holding(held_lock&& held) : held_{std::move(held)} {}
    explicit holding(permit&& held) : held_{std::move(held)} {}
    explicit holding(multi_guard&& held) : held_{std::move(held)} {}
    // Somebody else's, who releases it, and to whom nobody's request comes here.
    explicit holding(const held_lock* held) : held_{held} {}

    // True when something was granted, also when it has been lost since.
    [[nodiscard]] explicit operator bool() const noexcept;
    [[nodiscard]] std::chrono::steady_clock::duration remaining() const noexcept;
    [[nodiscard]] error_code loss_reason() const noexcept;
    // Of the node, of the first permit, or of the first of several locks.
    [[nodiscard]] std::string node() const;
    // Empty for permits, which have none. Of the first of several locks.
    [[nodiscard]] std::string token() const;
    // Of each of several locks, in their order; of one lock, its own.
    [[nodiscard]] std::vector<std::string> nodes() const;
    [[nodiscard]] std::vector<std::string> tokens() const;

    // The step, with the condition that this is still held. Of a lock of its own.
    [[nodiscard]] std::vector<transaction_op> guarded(transaction_op step) const;

    // Gives the reason of the loss. Throws when it is cancelled.
    boost::asio::awaitable<error_code> wait_lost() const;
    // Until a client asks for the lock, or for one of several, from this one on. Nobody can ask for permits.
    boost::asio::awaitable<void> wait_revoked(std::size_t from = 0) const;
    boost::asio::awaitable<error_code> release();

private:
    [[nodiscard]] const held_lock* lock() const noexcept;

    std::variant<held_lock, permit, const held_lock*, multi_guard> held_;
};

} // namespace colock::cli
