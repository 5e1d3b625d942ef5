// What goes wrong in a world: links, machines, operators. All of it is over some time before the end.
#pragma once

#include "check/holds.hpp"
#include "check/journal.hpp"
#include "check/queues.hpp"
#include "rarity.hpp"
#include "simulated.hpp"
#include "workload/program.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace world {

class trouble {
public:
    using programs = std::vector<std::unique_ptr<workload::program>>;

    trouble(timeline& time, network& net, ensemble& servers, programs& clients,
            check::queues& queues, check::holds& holds, check::journal& notes,
            std::vector<check::journal::actor> server_names, random chance,
            std::chrono::milliseconds session);
    trouble(const trouble&) = delete;
    trouble& operator=(const trouble&) = delete;

    // More of the troubles that a rare world is about.
    void favour(rarity r);
    // No other trouble than that a follower, and all clients, are cut off the leader for longer than sessions last.
    void only_followers_alone();
    // From now until then, so far apart on average.
    void begin(instant until, std::chrono::nanoseconds apart);
    // Everything is as it was before, and stays so.
    void end();

    [[nodiscard]] std::size_t count() const noexcept { return count_; }

private:
    using maker = void (trouble::*)();

    void plan_next();
    void make();
    // Undone then, or at the end.
    void later(std::chrono::nanoseconds after, std::function<void()> undo);
    [[nodiscard]] std::chrono::nanoseconds some_time();
    void note(check::deed what, check::journal::actor who, const std::string& text);

    [[nodiscard]] workload::program& some_client();
    [[nodiscard]] std::size_t some_server();

    void cut_client_off_one();
    void cut_client_off_all();
    void cut_servers_apart();
    void isolate_server();
    void isolate_follower();
    void isolate_follower_for_long();
    void slow_link();
    void slow_client();
    void lose_client_slowly();
    void cut_off(workload::program& c, std::chrono::nanoseconds from,
                 std::chrono::nanoseconds until);
    void lose_client_behind_late_answers();
    void flaky_client();
    void lose_server_behind_handshake();
    void reset_client();
    void stop_client();
    void suspend_client();
    void kill_client();
    void destroy_client();
    void kill_computer();
    void kill_guard();
    void stop_guard();
    void kill_client_of_stopped_guard();
    void stop_server();
    void stall_server();
    void stall_follower();
    void slow_threads();
    void kill_server();
    void kill_leader();
    void delete_by_hand();
    void write_by_hand();

    // Of all servers but this one.
    void cut_off_others(machine& m, std::size_t server);
    void mend_others(machine& m, std::size_t server);
    void isolate(std::size_t server, std::chrono::nanoseconds length);
    void isolate_with_clients(std::size_t server, std::chrono::nanoseconds length);
    void reset_all_but(std::size_t server, workload::program& c);
    void wake(std::size_t server);
    void cut(machine& a, machine& b, const std::string& names);

    timeline& time_;
    network& network_;
    ensemble& servers_;
    programs& clients_;
    check::queues& queues_;
    check::holds& holds_;
    check::journal& journal_;
    std::vector<check::journal::actor> names_;
    random random_;
    std::chrono::nanoseconds session_;
    const pauses servers_usual_;
    instant until_{};
    std::chrono::nanoseconds apart_{};
    std::vector<maker> makers_; // those of this world
    std::vector<std::shared_ptr<std::function<void()>>> undos_;
    bool over_ = false;
    instant alone_until_{}; // a follower is cut off, or stalls
    std::size_t count_ = 0;
};

} // namespace world
