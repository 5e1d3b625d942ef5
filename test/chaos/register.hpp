// The register that all holders write to: a service that remembers the greatest fencing token, as docs/fencing.md asks.
//
// It is a thread of the chaos program, at a Unix socket: faults of the network do not reach it. A request is a line
// "LOCK PROCESS TURN TOKEN [NOTE]"; the answer is a line, "accepted" or "rejected".
#ifndef COLOCK_TEST_CHAOS_REGISTER_HPP
#define COLOCK_TEST_CHAOS_REGISTER_HPP

#include "journal.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace chaos {

// A write that came.
struct register_entry {
    std::string lock;
    std::string process;
    std::uint64_t turn = 0;
    std::string token;
    std::string note = {}; // the rest of the line
    nanoseconds at = 0;
    bool accepted = true;
};

class fenced_register {
public:
    // At a socket with this name. Throws std::runtime_error.
    explicit fenced_register(std::string socket);
    fenced_register(const fenced_register&) = delete;
    fenced_register& operator=(const fenced_register&) = delete;
    ~fenced_register();

    [[nodiscard]] const std::string& socket() const noexcept { return socket_; }
    // Those that were accepted, in their order.
    [[nodiscard]] std::vector<register_entry> accepted() const;
    // All that came, in their order. No write may come any more.
    [[nodiscard]] const std::vector<register_entry>& entries() const noexcept { return entries_; }
    // The process whose write was the last one.
    [[nodiscard]] std::string last_writer(const std::string& lock) const;

private:
    struct connection {
        int fd;
        std::string unread;
    };

    void run();
    // False when the other side has gone.
    bool serve(connection& c);
    std::string decide(const std::string& line);

    const std::string socket_;
    int listening_ = -1;
    int wake_ = -1;
    std::map<std::string, std::string> greatest_; // token, of a lock
    mutable std::mutex mutex_;                    // guards the two below
    std::vector<register_entry> entries_;
    std::map<std::string, std::string> writers_; // the last one, of a lock
    std::thread thread_;
};

} // namespace chaos

#endif
