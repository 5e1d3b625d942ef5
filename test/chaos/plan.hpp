// The faults of a run, drawn from its seed.
#ifndef COLOCK_TEST_CHAOS_PLAN_HPP
#define COLOCK_TEST_CHAOS_PLAN_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace chaos {

enum class kind {
    kill_client,         // SIGKILL, and a new process later
    stop_client,         // SIGSTOP, and SIGCONT later
    restart_client,      // is told to end, and a new process later
    kill_server,         // as with clients
    stop_server,         //
    restart_server,      // SIGTERM
    cut_client_server,   // a client and one server do not reach each other
    cut_client,          // a client reaches no server
    cut_follower_leader, // a follower and the leader do not reach each other; clients reach both
    cut_leader_rest,     // the leader reaches no other server; clients reach all
    cut_server_clients,  // no client reaches a server; the servers reach each other
    delay_clients,       // all that a client sends, or is sent, comes later
    delay_server,        // the same between a server and the others
    lose_clients,        // packets between a client and the servers are lost
    lose_server,         // between a server and the others
};

// Of packets.
enum class direction { both, there, back };

struct fault {
    std::chrono::milliseconds at{0};    // from the beginning of the faults
    std::chrono::milliseconds lasts{0}; // then it is undone
    chaos::kind kind = chaos::kind::kill_client;
    // The client that was the last to write under the mutex, and may hold it still; or this one.
    bool holder = false;
    std::size_t client = 0;
    // A server: the leader, or this one of the others. Who leads, and who holds, is known only when it happens.
    bool leader = false;
    std::size_t other = 0;
    chaos::direction direction = chaos::direction::both;
    int lost = 100; // of a hundred packets
    std::chrono::milliseconds delay{0};
};

// In the order of their times; the same for the same arguments. Some come together. All have ended
// when the time is over.
std::vector<fault> plan(std::uint64_t seed, std::chrono::milliseconds time, int faults_a_minute,
                        std::size_t clients);

std::string name_of(kind k);

} // namespace chaos

#endif
