// One lock of several that are wanted together, of whatever kind: what a multi_lock knows of it.
#pragma once

#include <colock/detail/deadline.hpp>
#include <colock/detail/operation.hpp>

#include "client/core.hpp"
#include "lock/multi/guard_part.hpp"

#include <functional>
#include <memory>
#include <string>
#include <type_traits>

namespace colock::detail {

// An acquisition that is under way.
struct acquisition {
    std::shared_ptr<cancel_link> link; // to end it early
    // What it came to, as the operation of that lock has it; once, on any thread, perhaps before start() returns.
    std::function<void(const error_code&, guard_part)> done;
};

// Immutable. A new kind of lock is another class that is derived from this one, and a constructor of lock_entry.
class lock_target {
public:
    virtual ~lock_target() = default;

    [[nodiscard]] virtual const std::shared_ptr<client_core>& core() const noexcept = 0;
    [[nodiscard]] virtual const std::string& path() const noexcept = 0;
    // Whether an expired session is no reason to give it up.
    [[nodiscard]] virtual bool rejoins_on_expiry() const noexcept = 0;
    // On the strand.
    virtual void start(acquisition a, deadline until) const = 0;
};

// The operation of a lock that gives this kind of guard.
template <class Guard>
class acquiring final : public operation<error_code, Guard> {
public:
    [[nodiscard]] static operation_ptr<error_code, Guard> make(acquisition a)
    {
        return operation_ptr<error_code, Guard>{new acquiring{std::move(a)}};
    }

    void complete(error_code&& ec, Guard&& held) override
    {
        const auto done = std::move(done_);
        delete this;
        if constexpr (std::is_same_v<Guard, permit>) {
            done(ec, std::move(held));
        } else {
            done(ec, held_lock{std::move(held)});
        }
    }
    void destroy() noexcept override { delete this; }

private:
    explicit acquiring(acquisition&& a)
        : operation<error_code, Guard>{std::move(a.link)}, done_{std::move(a.done)}
    {
    }
    ~acquiring() = default;

    std::function<void(const error_code&, guard_part)> done_;
};

} // namespace colock::detail
