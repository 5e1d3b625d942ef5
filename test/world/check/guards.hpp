// Session guards: whose sessions they resume and end, and when.
#pragma once

#include "findings.hpp"
#include "journal.hpp"
#include "operations.hpp"
#include "queues.hpp"
#include "simulated.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace world::check {

class guards {
public:
    guards(timeline& time, findings& found, const journal& notes, const queues& in)
        : time_{time}, found_{found}, journal_{notes}, queues_{in}
    {
    }

    // What runs there from now on.
    void process_began(const machine& m, std::shared_ptr<const life> which) { lives_[&m] = which; }
    void guard_began(const machine& m, journal::actor who, std::shared_ptr<const life> owner)
    {
        guards_[&m] = {who, std::move(owner), {}};
    }
    // It may be late for what it has begun before.
    void guard_resumed(const machine& m) { guards_[&m].resumed = time_.now(); }

    // By anybody, to anybody.
    void sent(const stream& by, const message& m);
    // The sessions of a dead process are over, whose guard has seen no trouble.
    void look_whether_ended(const life& of);

    // ---- numbers of sessions that repeat, as those of an ensemble that is set up anew

    void session_over(std::int64_t number) { over_.emplace_back(number, time_.now()); }
    // Of a session of this server that ended so long ago, and that no living process takes for its own; 0: none.
    [[nodiscard]] std::int64_t take_old(std::size_t server, std::chrono::nanoseconds age,
                                        const std::function<bool(std::int64_t)>& is_known);

private:
    struct guard {
        journal::actor who = 0;
        std::shared_ptr<const life> owner;
        instant resumed{-1};
    };
    struct session {
        std::shared_ptr<const life> owner;
        std::chrono::milliseconds timeout{}; // the longest that its owner may know of
        instant since{};
    };

    void look(const guard& g, std::int64_t number, bool ends);

    timeline& time_;
    findings& found_;
    const journal& journal_;
    const queues& queues_;
    std::map<const machine*, std::shared_ptr<const life>> lives_;
    std::map<const machine*, guard> guards_;
    std::map<std::int64_t, session> sessions_;
    std::map<const stream*, std::int64_t> resumed_; // by guards
    std::deque<std::pair<std::int64_t, instant>> over_;
};

} // namespace world::check
