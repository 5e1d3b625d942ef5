// Shards: whose bodies run, who takes part, and who shall own what.
#pragma once

#include "findings.hpp"
#include "journal.hpp"
#include "operations.hpp"
#include "queues.hpp"
#include "simulated.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace world::check {

class shards {
public:
    using number = std::uint64_t;

    struct place {
        std::string path;                    // of all of them; empty: this world has no shards
        std::vector<std::size_t> locks = {}; // one for each shard, of the queues
        std::size_t leader = 0;              // likewise
        std::chrono::nanoseconds settle{0};  // as the members' options say
        std::chrono::nanoseconds prepare{0};
        std::chrono::nanoseconds take{0};
        std::size_t moves_at_a_time = 1;
        bool bodies_end = false; // by themselves, and members pause before they begin again
    };
    // One shards::async_run.
    struct run {
        std::string name;
        std::uint32_t weight = 1;
        journal::actor who = 0;
        std::shared_ptr<const life> owner;
    };
    struct body {
        number of = 0; // the run
        std::uint32_t shard = 0;
        std::int64_t session = 0;
        std::string node;              // of the lock, as the ensemble knows it
        std::function<bool()> is_lost; // it knows that the lock is lost
    };

    shards(timeline& time, findings& found, journal& notes, const queues& in)
        : time_{time}, found_{found}, journal_{notes}, queues_{in}
    {
    }

    void add(place p);

    // ---- from the programs
    number runs(run r);
    void leaves(number n); // it was told to, or cancelled
    void over(number n);
    number began(body b);
    void ended(number n);
    // The run has ended by itself, and nothing has failed.
    void ended_alone(number n);
    void process_over(const life& of);
    // How often bodies have begun or ended.
    [[nodiscard]] number changes() const noexcept { return changes_; }
    // What shards::async_owners has answered: the owner of each shard, and to whom it is assigned.
    using owner = std::pair<std::optional<std::string>, std::optional<std::string>>;
    void seen(journal::actor by, const std::vector<owner>& all);

    // ---- from the ensemble, before the queues hear of it
    void committed(const transaction& t);

    // No more trouble since then; what it left behind is over now.
    void calm(instant trouble_ended);
    // Now and then, in the calm.
    void look();

private:
    struct running : run {
        instant since{};
        bool leaves = false;
    };
    struct working : body {
        std::string name; // of its member
        journal::actor who = 0;
        std::shared_ptr<const life> owner;
        instant since{};
    };
    // As the ensemble has it.
    struct member {
        std::int64_t session = 0;
        std::uint32_t weight = 1;
        bool refuses = false; // some shards
        instant since{};
    };
    using owners = std::vector<std::string>;

    void members_changed();
    void member_written(const std::string& name, const std::string& data);
    void written(const std::string& data, std::int64_t session);
    [[nodiscard]] std::size_t moves(const owners& from, const owners& to) const;
    [[nodiscard]] std::size_t least_moves() const;
    [[nodiscard]] bool all_take_part() const;
    [[nodiscard]] bool anybody_refuses() const;
    [[nodiscard]] bool is_nobody_late() const;
    [[nodiscard]] bool is_stable() const;
    void look_whether_assigned();
    void look_whether_owned();
    void look_whether_even();
    void look_at_members();

    timeline& time_;
    findings& found_;
    journal& journal_;
    const queues& queues_;
    place what_;
    number last_ = 0;
    number changes_ = 0;
    std::map<number, running> runs_;
    std::map<number, working> bodies_;
    std::vector<instant> unowned_; // since then, as long as nobody runs a body
    std::vector<instant>
        unassigned_;                // since then, as long as it is assigned to nobody who is there
    std::vector<instant> assigned_; // since then to the same one
    std::set<std::int64_t> dead_;   // sessions whose process was killed
    std::set<std::string> removed_; // nodes of locks that operators have deleted
    std::map<std::string, member> members_;
    owners table_;
    instant changed_{};       // the members, or what they say
    std::size_t allowed_ = 0; // moves, since then
    std::size_t moved_ = 0;
    std::optional<instant> ended_; // the trouble
    instant calm_{};
};

} // namespace world::check
