// Servers, clients and the network of a chaos, and what is done to them.
#ifndef COLOCK_TEST_CHAOS_SCENE_HPP
#define COLOCK_TEST_CHAOS_SCENE_HPP

#include <support/subprocess.hpp>
#include <support/temporary_directory.hpp>
#include <support/zookeeper_server.hpp>

#include "journal.hpp"
#include "network.hpp"
#include "plan.hpp"
#include "register.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chaos {

struct scene_settings {
    std::uint64_t seed = 1;
    std::size_t colock_clients = 5;
    std::size_t curator_clients = 2;
    std::string worker;  // the programs
    std::string curator; // may be empty
};

// One thread uses it.
class scene {
public:
    using clock = std::chrono::steady_clock;

    // Starts everything, and returns when all clients are connected. Throws std::runtime_error.
    explicit scene(const scene_settings& s);
    scene(const scene&) = delete;
    scene& operator=(const scene&) = delete;

    // Begins it, and orders its end. Says what was done, and to whom; empty when there is nobody to do it to.
    std::string begin(const fault& f);

    // Carries out the actions that are due. The caller has to call it often.
    void go_on();

    // Undoes every fault, and returns when all servers and clients run. Throws std::runtime_error.
    void calm_down();

    // Lets the clients end their turns, and begin no more. Which of them have not done so in time.
    std::vector<std::string> silence(std::chrono::seconds limit);
    // The nodes that belong to a session, below the paths of the locks, when the time is over or there are none.
    std::vector<std::string> nodes(std::chrono::seconds limit);
    // Lets the clients end in order. Which of them have not done so in time.
    std::vector<std::string> finish(std::chrono::seconds limit);
    // The sessions that the servers have, when the time is over or there are none.
    std::vector<std::string> sessions(std::chrono::seconds limit);
    // Ends the servers; the processes that are in the network then.
    std::vector<std::string> processes();

    // The clients that run: the journal of each, and whether it is colock's.
    struct running_client {
        std::string process, file;
        bool is_colock;
    };
    [[nodiscard]] std::vector<running_client> running() const;
    [[nodiscard]] std::vector<journal> journals() const;
    [[nodiscard]] std::vector<register_entry> accepted() const { return register_.accepted(); }

    // Processes of colock's that ended when they should not have, or did not when they should.
    [[nodiscard]] const std::vector<std::string>& complaints() const noexcept
    {
        return complaints_;
    }
    // The same of others: servers, Curator.
    [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }

    [[nodiscard]] std::vector<std::string> server_directories() const;

    // Journals and logs, for somebody who wants to know why.
    void keep(const std::string& directory) const;

private:
    enum class condition { runs, stopped, ending, down };

    struct client {
        std::string place; // "colock-2"
        bool is_colock = true;
        std::size_t host = 0;
        int launches = 0;
        chaos::scene::condition condition = condition::down;
        std::unique_ptr<colock::test::subprocess> process;
        clock::time_point deadline{};         // when it is ending
        std::chrono::milliseconds pause{0};   // then, until the next process
        std::vector<running_client> journals; // of all its processes; the last one runs
    };
    enum class server_condition { runs, stopped, down };

    void start(client& c);
    void start_later(client& c, std::chrono::milliseconds pause);
    void watch(client& c);
    void note_if_slow(const std::string& what, clock::time_point begin);
    void complain(const client& c, const std::string& what);
    // The planned client, whatever its condition; and one that runs.
    std::size_t client_of(const fault& f);
    client* free_client(const fault& f);
    // Those whose condition is that they run.
    std::optional<std::size_t> free_server(const fault& f);
    std::optional<std::size_t> leader();
    // The planned server, whatever its condition.
    std::size_t server_of(const fault& f);
    std::string name_of_server(std::size_t number);
    void launch(std::size_t server);
    std::string disturb_network(const fault& f);
    void disturb(hosts a, hosts b, const fault& f);
    void later(std::chrono::milliseconds delay, std::function<void()> action);
    [[nodiscard]] hosts all_servers() const;
    [[nodiscard]] hosts all_clients() const;
    bool all_end(clock::time_point deadline, std::vector<std::string>& late);

    const scene_settings settings_;
    colock::test::temporary_directory directory_;
    fenced_register register_;
    network network_;
    colock::test::zookeeper_ensemble servers_;
    std::vector<server_condition> server_conditions_;
    std::size_t last_leader_ = 0;
    std::vector<client> clients_;
    std::multimap<clock::time_point, std::function<void()>> due_;
    std::vector<std::string> complaints_, notes_;
    bool finishing_ = false;
};

} // namespace chaos

#endif
