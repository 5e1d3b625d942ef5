// A guard of any kind that is held, and known to the checks for as long.
#pragma once

#include "customer.hpp"

#include <memory>
#include <variant>
#include <vector>

namespace world::workload {

using any_guard = std::variant<std::monostate, colock::unique_lock, colock::shared_lock,
                               colock::permit, colock::multi_guard>;

[[nodiscard]] bool holds_something(const any_guard& guard);

// Tells the checks of a hold: from its making, which has to be in the handler of the grant, to its end. The guard
// stays where it is meanwhile. Outlives its process.
class ticket {
public:
    ticket() noexcept = default;
    ticket(customer& by, std::size_t place, check::mode how, const colock::held_lock& guard);
    ticket(customer& by, std::size_t place, const colock::permit& guard);
    // Of a mutex that is no place of the scene, with the default options but for this margin.
    ticket(customer& by, std::size_t queue, std::chrono::milliseconds margin,
           const colock::unique_lock& guard);
    ticket(ticket&& other) noexcept;
    ticket& operator=(ticket&& other) noexcept;
    ~ticket() { close(); }

    void close();
    void watch(customer& by, const colock::held_lock& guard);
    void watch(customer& by, const colock::permit& guard);
    [[nodiscard]] check::holds::number number() const noexcept { return number_; }

private:
    void granted(customer& by, check::holds::grant g, const colock::held_lock& guard);
    template <class Guard>
    void watch_any(customer& by, const Guard& guard);

    check::holds* all_ = nullptr;
    check::holds::number number_ = 0;
};

class held {
public:
    held() noexcept = default;
    // Of one place, or of those of a multi_guard in their order.
    held(customer::ptr by, std::vector<std::size_t> places, any_guard guard);
    held(held&&) noexcept = default;
    held& operator=(held&&) noexcept = default;

    [[nodiscard]] explicit operator bool() const; // neither released nor lost
    [[nodiscard]] colock::error_code lost() const;
    [[nodiscard]] any_guard& guard() { return inner_->guard; }
    [[nodiscard]] customer& by() { return *inner_->by; }

    // Writes the token down where greater ones are refused.
    void write();
    // The same at the ensemble, on the condition that the lock is held.
    [[nodiscard]] asio::awaitable<void> write_guarded();
    // In one of the ways there are.
    [[nodiscard]] asio::awaitable<void> release(random& chance);
    // For a while, or until it is lost; with what a holder does.
    [[nodiscard]] asio::awaitable<void> use(random& chance);
    // The checks expect nothing of it any more. For what exchanges guards.
    void forget() { inner_->tickets.clear(); }
    [[nodiscard]] const ticket& first() const { return inner_->tickets.front(); }

private:
    std::shared_ptr<bool> listen();
    [[nodiscard]] asio::awaitable<void> use_for_long(random& chance);
    void watch_together(const colock::multi_guard& guard);

    struct inner {
        customer::ptr by;
        std::vector<std::size_t> places;
        any_guard guard;
        std::vector<ticket> tickets; // gone before the guard
    };

    std::unique_ptr<inner> inner_; // where guards do not move
};

} // namespace world::workload
