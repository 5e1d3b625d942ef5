// When to do again what a server's answers bring about again and again. Sans-io.
#pragma once

#include "session/growing_pause.hpp"

#include <chrono>
#include <cstdint>
#include <random>

namespace colock::protocol {

// A server may answer so that the client asks again, without end: it is too busy, somebody interferes each time, or it lies.
// Whatever is repeated because of an answer or an event asks a pacer of its own before. The first time costs no pause. Each
// further one has a pause that doubles, and loses up to half of itself at random. So a pacer lets through thirty
// repetitions of either kind in any second at most: refusals, and events.
//
// Times are those of the clock by which the pauses are waited for.
class pacer {
public:
    using duration = std::chrono::nanoseconds;
    using time_point = duration; // since the epoch of that clock

    explicit pacer(std::uint32_t seed) : random_{seed} {}

    // A request is to be repeated that was refused, or has brought nothing. How long to wait before; it counts as
    // repeated then. Pauses grow to a second, so that servers with too much to do get time. After ten seconds without a
    // repetition the next one is the first again.
    [[nodiscard]] duration refused(time_point now)
    {
        return next(refusals_, now, std::chrono::seconds{10}, std::chrono::seconds{1});
    }

    // A watch has fired, and what it was for is to be looked at again. What changes less than ten times a second is looked at
    // at once, however long that goes on.
    [[nodiscard]] duration fired(time_point now)
    {
        return next(events_, now, std::chrono::milliseconds{100}, std::chrono::milliseconds{100});
    }

    // It was not in vain: the next repetition is the first again.
    void progressed() noexcept { refusals_.step = events_.step = 0; }

private:
    // Apart, so that many events do not make the first refusal wait for long.
    struct series {
        unsigned step = 0;
        time_point last = -std::chrono::hours{1}; // a machine may have started just now
    };

    duration next(series& of, time_point now, duration forgotten, std::chrono::milliseconds most)
    {
        if (now - of.last > forgotten) {
            of.step = 0;
        }
        duration pause{};
        if (of.step != 0) {
            pause = growing_pause(of.step - 1, std::chrono::milliseconds{1}, most, random_);
        }
        ++of.step;
        of.last = now + pause;
        return pause;
    }

    series refusals_;
    series events_;
    std::minstd_rand random_;
};

} // namespace colock::protocol
