// A system of this program's own, in a process of its own: what `--serve` lets the protocol of
// peers/README.md drive, as it does the peers.
#pragma once

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

using clock = std::chrono::steady_clock;

struct cycle_time {
    clock::duration lock;  // until it is held
    clock::duration cycle; // until it is released again
};

struct not_supported : std::runtime_error {
    not_supported() : runtime_error{"not supported"} {}
};

// The commands; what a system has not, it leaves. They throw std::runtime_error.
class own_system {
public:
    own_system() = default;
    own_system(const own_system&) = delete;
    own_system& operator=(const own_system&) = delete;
    virtual ~own_system() = default;

    // Called now and then while no command is carried out.
    virtual void attend() {}

    virtual void lock(const std::string& path);
    virtual void unlock(const std::string& path);

    // Locks, and then appends to the file of `stamps` until the lock is lost; how it was told. Then `unlock`.
    virtual std::string work(const std::string& path, const std::string& file);

    // Takes and releases the lock so many times.
    virtual std::vector<cycle_time> cycles(const std::string& path, int count);

    // Reads a node, so many times, one after the other: the time of one round trip each.
    virtual std::vector<clock::duration> reads(int count);

    struct contention {
        std::chrono::milliseconds time;
        std::chrono::microseconds hold{0};
        int sessions = 1;
    };
    // How many turns were granted within the time.
    virtual long contend(const std::string& path, contention c);
    virtual long rw_contend(const std::string& path, contention c, int read_percent);
    virtual long many(const std::string& prefix, int locks, int in_flight,
                      std::chrono::milliseconds time);

    // So many more waiters of one session, each with a place of its own; returns when all stand in
    // the queue. Nobody releases before `drain`, which returns when so many more have been granted.
    virtual void queue_up(const std::string& path, int waiters);
    virtual clock::duration drain(const std::string& path, int grants);

    // So many members, each of a session of its own, begin to share so many shards; the file gets a line "TIME began SHARD
    // MEMBER" or "TIME ended SHARD MEMBER" for each, in nanoseconds of CLOCK_MONOTONIC. And all of them leave.
    virtual void share(const std::string& path, int shards, int members, const std::string& file);
    virtual void leave();
};

// Connected when they return.
using make_own_system = std::unique_ptr<own_system> (*)(const std::string& hosts,
                                                        std::chrono::milliseconds timeout);
std::unique_ptr<own_system> make_colock(const std::string& hosts,
                                        std::chrono::milliseconds timeout);
// Over TLS; this variable of the environment names the directory with the certificates.
inline constexpr auto tls_files = "COLOCK_BENCH_TLS_FILES";
std::unique_ptr<own_system> make_colock_tls(const std::string& hosts,
                                            std::chrono::milliseconds timeout);
// With a session guard, which is beside this program.
std::unique_ptr<own_system> make_colock_guarded(const std::string& hosts,
                                                std::chrono::milliseconds timeout);
std::unique_ptr<own_system> make_raw(const std::string& hosts, std::chrono::milliseconds timeout);
std::unique_ptr<own_system> make_raw_tuned(const std::string& hosts,
                                           std::chrono::milliseconds timeout);
std::unique_ptr<own_system> make_herd_children(const std::string& hosts,
                                               std::chrono::milliseconds timeout);
std::unique_ptr<own_system> make_herd_holder(const std::string& hosts,
                                             std::chrono::milliseconds timeout);

// Throws when there is no such system.
std::unique_ptr<own_system> make(std::string_view name, const std::string& hosts,
                                 std::chrono::milliseconds timeout);

} // namespace bench
