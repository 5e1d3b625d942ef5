// One ZooKeeper server that keeps everything in memory. It does no I/O, and time is what it is told.
#pragma once

#include "ensemble/ensemble.hpp"
#include "ensemble/machine.hpp"
#include "ensemble/network.hpp"
#include "ensemble/timeline.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace colock::testing {

// Beyond them it refuses, or closes the connection: whoever asks too much gets no answer at the expense of the others.
struct server_limits {
    std::size_t nodes = 200'000;
    std::size_t bytes = 64 << 20; // of paths, data and access control lists
    std::size_t sessions = 10'000;
    std::size_t connections = 2'000;
    std::size_t addresses = 1'000; // from which there has been a connection
    std::size_t watches = 1'000'000;
    std::size_t watched = 64 << 20;              // of the paths of watches
    std::size_t proofs = 4 << 10;                // of identities that one connection claims
    std::size_t frame = 0xfffff;                 // jute.maxbuffer
    std::size_t unread = 4 << 20;                // by one client: it is not heard until it reads
    std::size_t most_unread = 64 << 20;          // of events, too
    std::chrono::milliseconds last_words{5'000}; // for the rest, once the connection is over
};

struct server_settings {
    std::chrono::milliseconds least_session{4'000};
    std::chrono::milliseconds most_session{40'000};
    std::chrono::milliseconds container_check{60'000};
    std::chrono::nanoseconds since_1970{}; // the time of now
    std::string secret;                    // random bytes, of which passwords are made
    std::uint64_t seed = 1;
    bool knows_certificates = false; // access control lists may have the scheme "x509"
    bool exists_needs_read = true;   // as in ZooKeeper 3.8.4, 3.9.2 and later
    server_limits limits = {};
};

class client_port;

class memory_server {
public:
    // It serves at once.
    explicit memory_server(server_settings settings);
    memory_server(const memory_server&) = delete;
    memory_server& operator=(const memory_server&) = delete;

    // What is due so long after the beginning, and before.
    void advance(std::chrono::nanoseconds since_begin) { time_.run_until(since_begin); }
    // When something is due again.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> next() { return time_.next(); }
    [[nodiscard]] std::chrono::nanoseconds now() const noexcept { return time_.now(); }

    [[nodiscard]] const server_settings& settings() const noexcept { return settings_; }
    [[nodiscard]] std::chrono::milliseconds tick() const noexcept;
    [[nodiscard]] const simulated::tree& nodes() const { return servers_.seen_by(0); }
    [[nodiscard]] std::size_t watches() const { return servers_.watches(); }
    [[nodiscard]] bool has_room_for_watches() const
    {
        return watches() <= settings_.limits.watches &&
               servers_.watch_bytes() <= settings_.limits.watched;
    }
    [[nodiscard]] bool has_room_for_sessions() const
    {
        return nodes().sessions().size() < settings_.limits.sessions;
    }
    // Of now, as the servers of ZooKeeper count it in what they say of connections.
    [[nodiscard]] std::chrono::milliseconds clock() const noexcept;

    // ---- for tests

    void expire(std::int64_t session);
    void pause() noexcept; // clients find it silent
    void resume();         // does what was to be done meanwhile, too
    void delay(std::chrono::microseconds each_way);
    void remove(const std::string& path); // with all below it

    // The clients, by age. A port has to be closed before this ends.
    [[nodiscard]] const std::map<std::uint64_t, client_port*>& ports() const noexcept
    {
        return ports_;
    }

private:
    friend class client_port;

    [[nodiscard]] std::uint64_t enter(client_port& p)
    {
        ports_.emplace(++ports_made_, &p);
        return ports_made_;
    }
    void leave(std::uint64_t number) noexcept { ports_.erase(number); }
    [[nodiscard]] bool is_paused();
    // Null: there are too many.
    [[nodiscard]] simulated::machine* host_of(const std::string& address);

    server_settings settings_;
    simulated::timeline time_;
    simulated::network net_;
    std::map<std::string, simulated::machine> hosts_; // of clients, by address
    simulated::ensemble servers_;
    std::map<std::uint64_t, client_port*> ports_;
    std::uint64_t ports_made_ = 0;
    std::vector<std::function<void()>> later_; // at resume()
};

} // namespace colock::testing
