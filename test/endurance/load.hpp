// Clients that take turns at locks, for as long as they are told to.
#ifndef COLOCK_TEST_ENDURANCE_LOAD_HPP
#define COLOCK_TEST_ENDURANCE_LOAD_HPP

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace endurance {

struct load_options {
    std::string hosts;
    std::size_t clients = 1000;
    std::size_t locks = 10'000;
    std::uint64_t seed = 1;
    double turns_a_second = 300; ///< Of all clients together.
};

/// How many turns there have been, by their outcome.
struct turn_counts {
    std::uint64_t granted = 0;
    std::uint64_t busy = 0; ///< Somebody held the lock, also when the limit of the attempt came.
    std::uint64_t disconnected =
        0; ///< Attempts with a limit or without a wait, while there was no connection.
    std::uint64_t cancelled = 0;
    std::uint64_t lost = 0; ///< Of those granted: lost before they were released.
    std::map<std::string, std::uint64_t> errors;
};

/// Clients on one context, which a thread of its own runs.
/**
 * Each client works with twenty of the locks, half of which it shares with its neighbour, and with one that fifty
 * clients want. There are mutexes, mutexes that linger, shared mutexes, and semaphores.
 */
class load {
public:
    explicit load(load_options options);
    load(const load&) = delete;
    load& operator=(const load&) = delete;
    ~load();

    /// Connects all clients, and waits for it.
    void connect();

    /// Each client takes each of its locks once; waits for it.
    void warm_up();

    /// Ten workers of each client take turns until that much time has passed; returns at once.
    void start_lap(std::chrono::steady_clock::duration time);

    /// Whether a worker is still at it.
    [[nodiscard]] bool under_way() const noexcept { return working_ > 0; }

    /// Nodes of contenders that the clients still have.
    [[nodiscard]] std::size_t contenders() const;

    [[nodiscard]] turn_counts counts() const;

    /// Sessions that were begun, and connections, by all clients together.
    [[nodiscard]] std::uint64_t sessions() const;
    [[nodiscard]] std::uint64_t connections() const;

    /// Closes all clients, destroys them, and waits for it.
    void close();

private:
    struct member; // a client and its locks
    struct worker;

    boost::asio::io_context context_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
        context_.get_executor()};
    load_options options_;
    std::vector<std::unique_ptr<member>> members_;
    std::uint64_t laps_ = 0;
    std::atomic<std::size_t> working_ = 0;
    mutable std::mutex mutex_; // of counts_
    turn_counts counts_;
    std::thread thread_; // runs the context
};

} // namespace endurance

#endif
