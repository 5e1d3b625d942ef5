// One process at a latch or a barrier: arrives, waits for the others, and goes on. Sans-io.
#pragma once

#include <colock/detail/gathering_place.hpp>
#include <colock/error.hpp>

#include "names/guid.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::protocol {

// More would make the transaction that ends a phase too large for a server.
inline constexpr std::uint32_t most_participants = 1'000;

// Inputs are member functions, outputs are appended to `out`. No clock, no I/O: copies may be taken, which is how the tests
// walk through every interleaving.
//
// The directory of a latch or a barrier has these nodes:
//
//     begun                                 made with the first phase, and stays: so the first phase is not made twice
//     phase-0000000003-of-8                 the phase that is under way, and how many have to arrive
//     arrival-0000000003-<guid>             of a process that waits, or that counts down and has not replaced it by the next one
//                                           yet: ephemeral, so it counts while its session lives
//     counted-0000000003-<guid>             of one that does not wait: it counts whatever becomes of the process
//
// Who arrives creates its node, and lists. Whoever sees that all are there ends the
// phase in one transaction: it replaces the node of the phase by that of the next one, and removes all arrivals. So it ends with
// all of them or not at all. The last one to arrive sees all. If it dies before it has ended the phase, its arrival goes, too,
// and they are not all there.
//
// Each waits for the deletion of its own node: when the phase is over, or its session has expired and it has to arrive again. A
// list tells which. That is also what becomes of an answer that is lost: it lists, and begins with what it finds.
class arrival {
public:
    using role = detail::gathering_role;

    struct rules {
        role what = role::arrive;
        std::uint32_t count = 1;                 // from 1 to most_participants
        bool reusable = false;                   // a barrier
        std::optional<std::uint64_t> phase = {}; // of a barrier: in no other one
    };

    struct step {
        enum class kind : std::uint8_t { create, create_ephemeral, remove };
        kind type;
        std::string name;
    };

    struct command {
        enum class kind : std::uint8_t {
            // Each is answered once, `list` by listed(), the others by answered().
            list,
            make_directory, // and its parents, unless they exist
            write,          // these steps, all or none
            watch, // answered when the node `name` is not there, or may have been deleted since
            pause, // which grows with each repetition
            // No answer.
            cut_short, // answer at once what waits: a watch, a pause, or a list that the caller waits for alone
            remains, // the servers refuse to remove its own node: `error` says why
            // The outcome: exactly one of these three, once.
            done, // `phase` is over; for role::look it is the one that is under way
            cancelled,
            failed, // `phase` is the count of the others, of errc::conflicting_maximum; or the one under way, of
            // errc::invalid_option
            // The last: no trace is left, but for what `remains`.
            gone,
        };
        kind type;
        std::vector<step> steps = {};
        std::string name = {};
        std::uint64_t phase = 0;
        error_code error = {};
    };
    using commands = std::vector<command>;
    using names = std::vector<std::string>;

    arrival(const rules& r, guid own) : rules_{r}, own_{own} {}

    void begin(commands& out);
    void listed(const error_code& ec, const names& children, commands& out);
    void answered(const error_code& ec, commands& out);
    // `at_once`: the caller has its outcome now, and the arrival is taken back in the background. Else it has the outcome when
    // no trace is left; one that only waits leaves none.
    void cancel(bool at_once, commands& out);

    // The same for equal states; for the walk over all of them.
    [[nodiscard]] std::string fingerprint() const;

private:
    using kind = command::kind;
    enum class at : std::uint8_t {
        listing,
        writing, // anything but its arrival
        arriving,
        watching,
        pausing,
        removing, // its own node
        gone,
    };
    struct view;

    void list(commands& out);
    void pause(commands& out);
    void watch(std::string name, commands& out);
    void write(at next, std::vector<step> steps, commands& out);
    void begin_first(const view& now, commands& out);
    void found(const view& now, commands& out);
    void take_part(const view& now, commands& out);
    void end_phase(const view& now, commands& out);
    void remove_own(const view& now, command outcome, commands& out);
    void finish(command outcome, commands& out);
    void fail(const error_code& ec, commands& out, std::uint64_t phase = 0);
    [[nodiscard]] std::string own_name(std::string_view prefix, std::uint64_t phase) const;

    rules rules_;
    guid own_;
    at at_ = at::listing;
    // That in which it arrived, or tried to. Its node may be there.
    std::optional<std::uint64_t> phase_ = {};
    command outcome_{kind::done}; // when its own node is removed
    bool leaves_ = false;         // and wants the outcome when no trace is left
    bool told_ = false;
};

} // namespace colock::protocol
