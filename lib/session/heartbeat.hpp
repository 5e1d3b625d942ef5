// When to talk to the servers, so that locks stay provably held. Sans-io.
#pragma once

#include "session/pacer.hpp"
#include "session/validity.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace colock::protocol {

// One beat is a cheap read, by which the leader hears of the session, and some time later a quorum write,
// which proves that it did. Reads go on for as long as there is a connection, so that a lock is safe as
// soon as it is created; writes are sent while somebody holds a lock or is next in line. What else the
// client sends counts just as well: a busy one sends no beats.
class heartbeat {
public:
    using duration = validity::duration;
    using time_point = validity::time_point;

    // The orders that are due now.
    struct orders {
        bool read = false;
        bool write = false;
        // Holders shall compare their bound with the clock: some are past it. Ordered once for each holder and bound.
        bool check = false;
    };

    heartbeat(duration tick, std::uint32_t seed) : validity_{tick}, tick_{tick}, pace_{seed} {}

    void connected(time_point began, duration timeout);
    void disconnected();
    void ended();

    // Any request of this connection was answered. `write`: it was a quorum write, and was carried out.
    // True when the contenders that await a proof may have it.
    [[nodiscard]] bool answered(time_point sent, time_point now, bool write);
    // `refused`: it was no contact, or no quorum write, whatever the server says. The next one takes its time.
    void read_answered(bool refused, time_point now);
    void write_answered(bool refused, time_point now);

    // Changes the count of contenders that are next in line.
    void count_next_in_line(bool one_more) noexcept { one_more ? ++in_line_ : --in_line_; }
    // A holder of a lock, which is to be told so long before the bound. Each that is added is removed with its margin.
    void add_holder(duration margin);
    void remove_holder(duration margin);
    // Some contender cannot be granted before there is a new proof.
    void await_proof() noexcept { awaited_ = true; }

    [[nodiscard]] time_point safe_until() const noexcept { return validity_.safe_until(); }
    // Whether there is a holder whose bound, less its margin, has passed since the last check that was ordered.
    [[nodiscard]] bool overdue(time_point now) const noexcept { return now >= check_due(); }

    [[nodiscard]] orders due(time_point now);
    // When due() has to be asked again, if nothing happens before.
    [[nodiscard]] time_point next() const noexcept;

private:
    void note_answer(bool refused, time_point now);
    [[nodiscard]] time_point read_due() const noexcept;
    [[nodiscard]] time_point write_due() const noexcept;
    [[nodiscard]] time_point check_due() const noexcept;

    validity validity_;
    duration tick_;
    duration period_{0};
    bool connected_ = false;
    bool reading_ = false; // a read of ours is unanswered
    bool writing_ = false;
    bool awaited_ = false;
    // When the last check was ordered. A holder that was overdue then has been told: without this, one that does not
    // let go would make the same check due again at once, for ever.
    time_point checked_ = time_point::min();
    time_point last_proof_{0}; // when the write that moved the bound was sent
    pacer pace_;
    time_point not_before_ = time_point::min(); // the next one, of either kind
    std::size_t in_line_ = 0;
    std::vector<std::pair<duration, std::size_t>> holders_; // by margin, the longest last
};

} // namespace colock::protocol
