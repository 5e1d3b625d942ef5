// What an operation that acquires something carries along for the client's observer.
#ifndef COLOCK_DETAIL_OBSERVATION_HPP
#define COLOCK_DETAIL_OBSERVATION_HPP

#include <colock/detail/config.hpp>
#include <colock/error.hpp>
#include <colock/fwd.hpp>
#include <colock/observer.hpp>

#include <chrono>
#include <cstdint>

namespace colock::detail {

struct observed_path; // lib/report/telemetry.hpp
struct seen_holder;

// Every acquisition has one, also where nobody observes, so the constructor sets two members alone.
struct observation {
    observation() noexcept {}

    // Null when nobody observes. It belongs to what the operation waits in, which outlives the operation.
    const observed_path* of = nullptr;
    std::uint64_t part_of = 0;

    // What follows is set when `of` is.
    std::uint64_t id;
    std::chrono::nanoseconds::rep began;   // of the boot_clock
    std::chrono::nanoseconds::rep granted; // of the boot_clock, once it is granted
    // `source` says which one. Handed off: the acquisition of the user who did it. Otherwise: the holder that was waited
    // for, or null; owned, and deleted at the end.
    union {
        std::uint64_t previous;
        const seen_holder* holder;
    };
    grant_source source;
    bool shared;
    bool tries;
};

// Whether operations with these results acquire something.
template <class...>
inline constexpr bool may_be_observed = false;
template <>
inline constexpr bool may_be_observed<error_code, unique_lock> = true;
template <>
inline constexpr bool may_be_observed<error_code, permit> = true;
template <>
inline constexpr bool may_be_observed<error_code, multi_guard> = true;

// The part of an operation for its observation.
template <bool>
struct observed_part {
};
template <>
struct observed_part<true> {
    observation observed;
};

// The operation is about to complete, or will never do so.
COLOCK_DECL void end_observation(observation& o, const error_code& ec,
                                 const unique_lock& held) noexcept;
COLOCK_DECL void end_observation(observation& o, const error_code& ec, const permit& held) noexcept;
COLOCK_DECL void end_observation(observation& o, const error_code& ec,
                                 const multi_guard& held) noexcept;
COLOCK_DECL void drop_observation(observation& o) noexcept;

} // namespace colock::detail

#endif
