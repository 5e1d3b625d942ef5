// A lease knows until when one lock is safe, why it was lost, and which operations wait for the loss.
#pragma once

#include <colock/held_lock.hpp>

#include "queue/first_loss.hpp"
#include "session/core.hpp"
#include "session/waiting_list.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace colock::detail {

class lease {
public:
    lease(client_core& core, std::chrono::nanoseconds margin) noexcept
        : core_{core}, margin_{margin}
    {
    }

    // ---- any thread

    [[nodiscard]] client_core& core() const noexcept { return core_; }
    // Why the lock is lost, if it is. Looks at the clock.
    [[nodiscard]] error_code lost(std::chrono::nanoseconds now = boot_clock::now()) const noexcept;
    // Until the lock counts as lost; negative when it does.
    [[nodiscard]] std::chrono::nanoseconds remaining(std::chrono::nanoseconds now) const noexcept;
    // What a guard says of it.
    [[nodiscard]] lock_state state() const noexcept;
    [[nodiscard]] std::chrono::steady_clock::time_point safe_until() const noexcept;
    [[nodiscard]] std::chrono::steady_clock::duration remaining() const noexcept;
    // Without a look at the clock.
    [[nodiscard]] error_code why() const noexcept { return loss_.why(); }
    // The caller that stores the first reason posts the owner's check(); without memory for that, the owner's catch_up() has to
    // check. The client alone may miss the loss, because its bound moves on.
    error_code note_loss_and_check(errc reason) const noexcept;

    // ---- on the strand

    void begin(std::weak_ptr<session_listener> owner) noexcept { owner_ = std::move(owner); }
    // Whether the client shall call the owner's check() when the bound passes.
    void ask_for_check(bool wanted);
    [[nodiscard]] bool asks_for_check() const noexcept { return asks_; }

    // The first reason stays.
    void note_loss(errc reason) noexcept { loss_.note(reason); }
    // Returns whether this is the first call: the owner then tells of the loss.
    [[nodiscard]] bool begin_telling() noexcept { return !std::exchange(told_, true); }
    [[nodiscard]] bool is_told() const noexcept { return told_; }
    // Tells the operations that wait, and the log. `what` is for people: "lock /path".
    void tell_waiters(const std::string& what);

    // Completes at once if the lock is lost, or is not held.
    void wait(operation_ptr<error_code, error_code> op, bool held, std::uint64_t turn);
    [[nodiscard]] bool is_awaited() const noexcept { return !waiting_.empty(); }
    void end_turn(std::uint64_t turn) { waiting_.complete_tagged(turn, errc::not_held, {}); }
    void end_turns() { waiting_.complete_all(errc::not_held, {}); }
    // Destroys the operations that wait, without a word.
    void discard() noexcept { waiting_.discard(); }

private:
    client_core& core_;
    const std::chrono::nanoseconds margin_;
    std::weak_ptr<session_listener> owner_;
    waiting_list<error_code> waiting_; // tagged with their turns
    mutable first_loss loss_;
    bool asks_ = false;
    bool told_ = false;
};

} // namespace colock::detail
