// The journals of the chaos: what each process saw, with the time at which it saw it.
//
// All processes run on one machine, so their times (CLOCK_MONOTONIC, in nanoseconds; System.nanoTime() of Java) can be
// compared. A process writes each line by one system call, so that a line is there whole, or not at all, however the
// process ends. A line:
//
//     TIME WHAT TURN [WORD...]
//
// A turn is one attempt to take a lock, counted from 1 within a journal. Lines of the whole process have turn 0.
#ifndef COLOCK_TEST_CHAOS_JOURNAL_HPP
#define COLOCK_TEST_CHAOS_JOURNAL_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chaos {

using nanoseconds = std::int64_t;

nanoseconds now();

enum class what {
    started, // the process: it is connected
    quiet,   // the process: no turn is under way, and none begins any more
    closed,  // the process: the client was closed; the last line

    asked, // LOCK MODE: an operation begins. Locks: mutex, rw, semaphore. Modes: exclusive, shared, or permits
    granted, // TOKEN: the operation completed, with a guard
    refused, // REASON: ... without one

    // The time was read first, then the guard said that the lock is held: so it was held at that time.
    holds,
    // The time was read first, then the guard said that the lock is not held any more.
    lapsed,
    // LAST: the holder was told of the loss. At LAST its event loop ran, some milliseconds before; and as it ran
    // between the two, it would have been told before, had it been known.
    told,
    // Nobody told the holder, though its guard has said "lapsed" for long.
    untold,

    accepted, // by the register
    rejected, // by the register: it has seen a greater token

    leaving, // the holder begins to unlock, or drops its guard
    left,    // REASON: the unlock completed
};

std::string_view name_of(what w);

struct event {
    nanoseconds at = 0;
    chaos::what what = chaos::what::started;
    std::uint64_t turn = 0;
    std::vector<std::string> words = {};
};

// Empty when the line is none.
std::optional<event> parse(std::string_view line);

struct journal {
    std::string process; // such as "colock-2.7": the seventh process in the second place
    bool is_colock = true;
    std::vector<event> events;
};

// Throws std::runtime_error when a line is none.
journal read_journal(const std::string& file, std::string process, bool is_colock);

class journal_writer {
public:
    // Throws std::runtime_error.
    explicit journal_writer(const std::string& file);
    journal_writer(const journal_writer&) = delete;
    journal_writer& operator=(const journal_writer&) = delete;
    ~journal_writer();

    void write(nanoseconds at, what w, std::uint64_t turn, std::string_view words = {});

private:
    int fd_;
};

} // namespace chaos

#endif
