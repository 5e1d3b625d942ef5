// A program's processes, their clients and ZooKeeper's servers in virtual time: for tests of what a program does when its
// lock is lost.
#ifndef COLOCK_TESTING_WORLD_HPP
#define COLOCK_TESTING_WORLD_HPP

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#if defined(BOOST_ASIO_HAS_IO_URING)
#error                                                                                             \
    "colock::testing::world takes the place of epoll: build this test without BOOST_ASIO_HAS_IO_URING"
#endif

namespace colock::testing {

/// How a `world` begins.
struct world_options {
    std::size_t servers = 3;              ///< They are called "server 1", "server 2", "server 3".
    std::chrono::milliseconds tick{2000}; ///< `tickTime` of the servers, from 2 ms to a day.
    /// How long sessions last: what clients ask for, within these limits. Zero: two ticks, and twenty.
    std::chrono::milliseconds least_session{0};
    std::chrono::milliseconds most_session{0}; ///< The other limit.
    std::size_t history = 10'000; ///< So many lines of the history are kept: the last ones.
};

/// How a process of a `world` differs from the others.
struct process_options {
    /// By how much the clock of its computer is fast, in millionths: less than 1,000,000.
    int drift = 0;
};

/// A program under virtual time. Its processes run the code that ships, with clients of colock, on computers of their own.
/// The network between them and an ensemble of simulated ZooKeeper servers is simulated, too. Time jumps from event to event,
/// so an hour takes a second, and all of it follows from the seed: the same seed is the same history, in each run.
///
/// ```cpp
/// colock::testing::world w{1};
/// w.start_process("worker", [](asio::io_context& context, std::string hosts) -> asio::awaitable<void> {
///     colock::client zk{context, {.hosts = hosts}};
///     co_await work(zk); // a coroutine of the program
/// });
/// w.run_for(1min);
/// w.cut("worker");
/// w.run_for(1min); // its lock is lost now
/// ```
///
/// Needs `find_package(colock COMPONENTS testing_world)`, and the target `colock::testing_world` in the place of
/// `colock::colock`. A program with both does not build. Where a library of the program loads a shared `colock::colock`, the
/// constructor throws `std::logic_error`.
///
/// A program that links it has other clocks and another epoll: `clock_gettime()`, `epoll_wait()`, `epoll_ctl()`,
/// `timerfd_create()`, `timerfd_settime()` and `close()`. While a process of the world runs, they show its virtual time.
/// Everywhere else, such as in the functions of a test and on other threads, they are the system's. So:
///
/// - A process does no other I/O than that of its clients, and starts no threads, not even those of `asio::system_executor`,
///   where handlers without an executor of their own may run. What waits for a socket or for a signal never ends.
///   `sleep()`, `time()` and `gettimeofday()` are the real ones.
/// - A guard that a test asks from without, such as `held.remaining()`, reads the clock of the test. See `look()`.
/// - All processes share the static variables of the program. `kill()` destroys the coroutines and the context of a process, so
///   destructors run, at a time when nothing is sent any more.
/// - Objects of colock belong to the process that made them. They have to be gone when the world is destroyed, which ends the
///   processes that still run. What a process refers to has to outlive the world.
/// - There is no TLS, and no session guard.
///
/// Works with the address sanitizer. Asio has to use epoll, not io_uring.
///
/// An exception that leaves a process leaves the function of the world that let it run. Names that are unknown, numbers
/// without a meaning, and times of more than 100 years, are refused with `std::invalid_argument`.
///
/// Thread safety: none. Several worlds may exist at a time.
class world {
public:
    /// What a process does, with its context and with the `client_options::hosts` of the servers.
    using main_coroutine =
        std::function<boost::asio::awaitable<void>(boost::asio::io_context&, std::string)>;

    /// All servers serve when it returns.
    explicit world(std::uint64_t seed, world_options options = {});
    world(const world&) = delete;
    world& operator=(const world&) = delete;
    /// Ends the processes that still run, in order: their clients end their sessions.
    ~world();

    /// The servers, for `client_options::hosts`. Each process is given it.
    [[nodiscard]] const std::string& hosts() const noexcept;

    // ---- processes

    /// Starts one, on a computer of its own. It runs until `main` has returned and its context has no more work.
    void start_process(const std::string& name, main_coroutine main, process_options options = {});
    /// Starts a process that takes the mutex at `path` as Curator's InterProcessMutex does, holds it for so long, and pauses
    /// for as long, for ever.
    void start_rival(const std::string& name, const std::string& path,
                     std::chrono::milliseconds hold);
    /// Whether the rival believes that it holds its mutex.
    [[nodiscard]] bool holds(const std::string& rival) const;
    /// Whether its `main` has returned, or it was killed.
    [[nodiscard]] bool has_ended(const std::string& process) const;

    /// Calls a function as this process, now, or when it goes on after a pause.
    void perform(const std::string& process, std::function<void()> what);
    /// The result of a function that sees the time as this process does: `look("worker", [&] { return held.remaining(); })`.
    template <class Function>
    [[nodiscard]] auto look(const std::string& process, Function what) const
    {
        std::optional<decltype(what())> seen;
        look_as(process, [&] { seen.emplace(what()); });
        return std::move(*seen);
    }

    // ---- time

    /// Since the world began.
    [[nodiscard]] std::chrono::nanoseconds now() const noexcept;
    /// Lets so much time pass.
    void run_for(std::chrono::nanoseconds duration);
    /// Lets time pass until this is true, for so long at most; a negative time is none. Returns whether it is true.
    bool run_until(const std::function<bool()>& is_true, std::chrono::nanoseconds limit);

    // ---- troubles of processes, rivals and servers

    /// Stops it, as SIGSTOP does. Its computer goes on: connections stay open.
    void pause(const std::string& name);
    /// Sends its computer to sleep. Its `steady_clock` stands still, its `system_clock` goes on.
    void suspend(const std::string& name);
    /// Goes on after `pause()` or `suspend()`.
    void resume(const std::string& name);
    /// Ends it, as SIGKILL does: its connections break, and its session stays until it expires. Not from within a process.
    void kill(const std::string& name);
    /// Starts another one in the place of one that was killed. A server has what was on its disk.
    void restart(const std::string& name);

    /// Nothing that one sends to the other arrives until `mend()`.
    void cut(const std::string& one, const std::string& other);
    /// Nothing that the first one sends to the second one arrives until `mend()`.
    void cut_one_way(const std::string& from, const std::string& to);
    /// Cuts it off everybody else.
    void cut(const std::string& name);
    /// The two reach each other again.
    void mend(const std::string& one, const std::string& other);
    /// It reaches everybody again who is not cut off everybody else.
    void mend(const std::string& name);
    /// How long each message is under way, at least and at most; 100 to 500 microseconds unless told.
    void delay(std::chrono::microseconds least, std::chrono::microseconds most);

    // ---- what operators do and see

    /// Ends the sessions of this process, with their nodes, as if it had been silent for too long: a little later. Throws
    /// `std::runtime_error` while no server leads.
    void expire(const std::string& process);
    /// Deletes the node and all below it: a little later. Throws `std::runtime_error` while no server leads.
    void remove(const std::string& path);

    /// The sessions of this process that live.
    [[nodiscard]] std::vector<std::int64_t> sessions(const std::string& process) const;
    /// The names of a node's children, sorted; none when there is no such node.
    [[nodiscard]] std::vector<std::string> nodes(const std::string& path) const;
    /// What a node has; nothing when there is no such node.
    [[nodiscard]] std::optional<std::string> data(const std::string& path) const;

    // ---- the history

    /// Adds a line to the history.
    void note(const std::string& text);
    /// What has happened, a line each: when, who, and what. Without pings, and what servers say among themselves.
    [[nodiscard]] std::string history() const;
    /// Of all that has happened. Two runs with the same hash have the same history.
    [[nodiscard]] std::uint64_t hash() const noexcept;

private:
    void look_as(const std::string& process, const std::function<void()>& what) const;

    struct impl;
    std::unique_ptr<impl> impl_;
};

} // namespace colock::testing

#endif
