// One run of the demo: processes that take turns at one file, what they report, what is done to them.
#ifndef COLOCK_EXAMPLES_DEMO_RACE_HPP
#define COLOCK_EXAMPLES_DEMO_RACE_HPP

#include "event.hpp"
#include "process.hpp"
#include "proxy.hpp"
#include "timeline.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace demo {

struct plan {
    std::vector<std::string> command; // of a turn taker; name, turns and servers are added
    std::vector<std::string> names;   // of the processes; the last one has a proxy
    std::string file;
    int coroutines = 3;
    int turns = 5; // of each coroutine

    // Without the lock: empty, and null.
    std::string hosts;
    proxy* way = nullptr; // of the last process
    std::chrono::milliseconds session{0};

    std::size_t lines = 1'000'000; // of grants that are shown
};

// A grant, and what came of it.
struct turn {
    std::string who; // "alpha/1"
    std::string token;
    std::uint64_t found = 0; // in the file
    microseconds from{0};
    microseconds to{0};
    bool wrote = false;
    bool lost = false;
};

struct outcome {
    std::vector<turn> turns;
    std::uint64_t count = 0;                // in the file, at the end
    bool killed = false;                    // a holder was killed
    std::optional<microseconds> taken_over; // how long after that the lock was granted again
    bool cut = false;                       // a connection was cut
    std::vector<std::string> complaints;    // processes that went wrong
};

class race {
public:
    race(asio::any_io_executor executor, plan p, timeline& shown);

    // Throws when it does not come to an end.
    asio::awaitable<outcome> run();

private:
    struct coroutine_state {
        lane_mark mark = mark_absent;
        microseconds since{0};
        std::size_t turn = 0; // index, while it holds
    };
    struct taker {
        std::string name;
        std::unique_ptr<process> running;
        std::vector<coroutine_state> coroutines;
        std::string session = {};
        bool connected = true, dead = false, done = false;
    };
    struct pending {
        taker* from;
        event what;
    };

    void start();
    void spawn(asio::awaitable<void> task);
    asio::awaitable<void> follow(taker& t);
    void collect();
    void drain();
    void handle(taker& t, const event& e);
    void granted(taker& t, const event& e);
    void connection_changed(taker& t, const event& e);
    void check_place(const taker& t, const event& e);
    void check_exit(taker& t);

    // Its coroutine that holds the lock, if any.
    static coroutine_state* holding(taker& t);
    static std::size_t waiting(const taker& t);
    [[nodiscard]] std::vector<std::string> lanes() const;
    [[nodiscard]] bool locked() const { return plan_.way != nullptr; }

    void disturb();
    asio::awaitable<void> interrupt_connection();
    void kill_holder();
    asio::awaitable<void> wait_for_take_over();
    [[nodiscard]] bool all_ended() const;

    asio::any_io_executor executor_;
    plan plan_;
    timeline& shown_;
    asio::steady_timer end_;
    std::size_t tasks_ = 0; // coroutines at work; `run` waits for all of them
    std::vector<taker> takers_;
    std::vector<pending> pending_; // the earliest first
    taker* holder_ = nullptr;      // had the last grant
    outcome outcome_;

    enum class stage { calm, cut, reconnected, killed } stage_ = stage::calm;
    microseconds cut_at_{0}, killed_at_{0};
    asio::steady_timer take_over_; // wakes `wait_for_take_over`
    std::set<int> places_;         // coroutines that waited when the connection was cut
    std::size_t overtaken_ = 0;    // turns of those who came later, before theirs
};

} // namespace demo

#endif
