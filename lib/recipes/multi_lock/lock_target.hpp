// One lock of several that are wanted together, of whatever kind: what a multi_lock knows of it.
#pragma once

#include <colock/detail/deadline.hpp>
#include <colock/detail/operation.hpp>
#include <colock/lock_options.hpp>

#include "recipes/multi_lock/guard_part.hpp"
#include "session/core.hpp"

#include <functional>
#include <memory>
#include <string>
#include <type_traits>

namespace colock::detail {

// An acquisition that is under way.
struct acquisition {
    cancel_link_ptr link;      // to end it early
    std::uint64_t part_of = 0; // for the observer: the acquisition of all of them together
    bool explains = false;     // the caller has diagnostics: what the lock says goes to `done`
    // What it came to, as the operation of that lock has it, and, if it explains, what an error is about; once, on any
    // thread, perhaps before start() returns.
    std::function<void(const error_code&, guard_part, std::string why)> done;
};

// Immutable. To join a multi_lock, a new kind of lock needs another constructor of lock_entry, which makes one of these.
class lock_target {
public:
    const std::shared_ptr<client_core> core;
    const std::string path;
    const lock_options options;
    const std::function<void(acquisition, deadline)> start; // on the strand
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
        auto why = why_.message();
        delete this;
        if constexpr (std::is_same_v<Guard, permit>) {
            done(ec, std::move(held), std::move(why));
        } else {
            done(ec, held_lock{std::move(held)}, std::move(why));
        }
    }
    void destroy() noexcept override { delete this; }

private:
    explicit acquiring(acquisition&& a)
        : operation<error_code, Guard>{std::move(a.link), a.explains ? &why_ : nullptr},
          done_{std::move(a.done)}
    {
        this->observed.part_of = a.part_of;
    }
    ~acquiring() = default;

    std::function<void(const error_code&, guard_part, std::string)> done_;
    diagnostics why_;
};

} // namespace colock::detail
