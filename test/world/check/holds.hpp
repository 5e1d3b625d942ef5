// The locks that the programs hold, as far as the programs know: G1, G5 and the tokens.
#pragma once

#include <colock/error.hpp>
#include <colock/fencing_token.hpp>

#include "findings.hpp"
#include "journal.hpp"
#include "operations.hpp"
#include "queues.hpp"
#include "simulated.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace world::check {

class holds : public queues::witness {
public:
    using number = std::uint64_t;

    struct grant {
        std::size_t place; // of the queues
        mode how = mode::exclusive;
        journal::actor who = 0;
        std::shared_ptr<const life> owner;
        const machine* where = nullptr;
        std::int64_t session = 0;
        std::vector<std::string> nodes; // as the ensemble knows them
        colock::fencing_token token;    // of permits, none
        std::chrono::milliseconds lead{0};
        std::uint64_t local_grants = 0; // lock_options::max_local_grants, and max_local_time
        std::chrono::milliseconds local_time{0};
        // For how long the guard says that the lock is safe; zero when it is lost. As its process sees the time.
        std::function<std::chrono::nanoseconds()> remaining;
        // The time-out of the session, as the client knows it.
        std::function<std::chrono::milliseconds()> timeout;
        std::uint64_t stops = 0; // of its machine until then
    };

    holds(timeline& time, findings& found, journal& notes, queues& in)
        : time_{time}, found_{found}, journal_{notes}, queues_{in}
    {
        queues_.set_witness(this);
    }

    // The handler of the acquisition runs. The guard stays where it is until let_go().
    number granted(grant g);
    // Before the guard is unlocked or destroyed.
    void let_go(number hold);
    // Somebody waits for the loss, and is told.
    void watched(number hold);
    void told(number hold, colock::error_code why);
    // Somebody waits for a request to let go, and is told.
    void waits_for_request(number hold);
    void asked(number hold);
    // The holder writes down its token, somewhere where greater ones are known. Whether it is taken.
    bool write(number hold);
    // The holder exchanges its node for another one: nothing is expected of the old one any more.
    void stepping_down(number hold);

    // The leader counts a session by this time-out from now on.
    void counted(std::int64_t session, std::chrono::milliseconds timeout);

    // Its number may be that of an old one.
    void session_opened(std::int64_t session) { timeouts_.erase(session); }

    void process_over(const life& of);
    // After a pause its process is told when it goes on.
    void resumed(const machine& m) { resumed_[&m] = time_.now(); }

    [[nodiscard]] std::uint64_t grants() const noexcept { return last_; }
    [[nodiscard]] std::size_t active() const noexcept { return active_.size(); }

    [[nodiscard]] bool is_held(const std::string& node) const;
    // There is no trouble from now on.
    // `refused`: servers refuse requests, and so may refuse each heartbeat of a client for too long.
    void calm(bool refused) noexcept
    {
        calm_ = true;
        refused_ = refused;
    }
    // Who believes to hold a lock has a node, or had one until so long ago.
    void look(std::chrono::nanoseconds limit);

    // ---- from the ensemble
    void node_gone(const std::string& path, std::int64_t session, queues::cause why) override;
    void session_over(std::int64_t session, bool expired) override;

private:
    struct hold {
        grant g;
        bool watched = false;
        bool is_told = false;
        std::optional<instant> waits_for_request = {}; // since then
        bool is_asked = false;
        bool robbed = false; // somebody deleted its node by hand
        bool stepping_down = false;
        bool known_lost = false;            // to its client, which has looked with so many stops
        std::uint64_t known_lost_stops = 0; // of its machine
        bool is_over = false;               // its session is, and its node with it
        instant made{};                     // its nodes, of permits
        instant since{};
        instant told_at{};
        instant robbed_at{};
        colock::error_code why;
    };
    // On one node, while somebody elsewhere is known to wait.
    struct run {
        std::string node;
        std::uint64_t grants = 0;
        instant since{}; // of the first of them
    };
    struct store {
        colock::fencing_token exclusive; // the greatest ones that were granted
        colock::fencing_token any;
        colock::fencing_token written; // what a fenced store has seen
    };

    void check_node(number n, hold& h);
    void check_exclusion(number n, const hold& h);
    void check_token(const hold& h);
    void check_bounds(number n, const hold& h);
    void look_whether_told(number n, hold& h);
    [[nodiscard]] bool has_shrunk(const hold& h) const;
    [[nodiscard]] bool is_late_release(const std::string& path, std::int64_t session,
                                       const hold& h) const;
    [[nodiscard]] std::string text_of(number n, const hold& h) const;

    timeline& time_;
    findings& found_;
    journal& journal_;
    queues& queues_;
    number last_ = 0;
    std::unordered_map<const machine*, instant> resumed_;
    std::map<number, hold> active_;
    std::unordered_map<std::int64_t, std::chrono::milliseconds>
        timeouts_;                                        // by session: the smallest
    std::map<std::string, std::int64_t> deleted_by_hand_; // and whose it was
    std::map<std::size_t, store> stores_;
    std::map<std::size_t, run> runs_; // by place
    std::map<std::size_t, std::vector<number>> by_place_;
    bool calm_ = false;
    bool refused_ = false;
};

} // namespace world::check
