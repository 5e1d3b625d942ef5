// A group: who has joined it, and who is listed.
#pragma once

#include "findings.hpp"
#include "journal.hpp"
#include "operations.hpp"
#include "queues.hpp"
#include "simulated.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace world::check {

class members {
public:
    using number = std::uint64_t;

    // What a member says of itself.
    struct words {
        std::string data = {};
        std::uint32_t weight = 1;

        bool operator==(const words&) const = default;
    };
    // As it is listed.
    struct view {
        std::string name;
        words said;
        std::int64_t session = 0;

        bool operator==(const view&) const = default;
    };

    members(timeline& time, findings& found, journal& notes, const queues& in)
        : time_{time}, found_{found}, journal_{notes}, queues_{in}
    {
    }

    // The group; without one there is nothing to check.
    void add(std::string path) { path_ = std::move(path); }

    // ---- from the programs
    // The handler of the operation runs.
    number joined(journal::actor who, std::shared_ptr<const life> owner, view as);
    void joined_again(number n, std::int64_t session);
    void updates(number n, words said); // from now on it may say this
    void updated(number n);             // and it does
    void left(number n);                // or is about to
    void has_left(const view& as);      // its node is gone
    void process_over(const life& of);
    // An operator is about to delete this node, which may be a member's of the same session by then.
    void takes_out(const std::string& name) { taken_out_.insert(name); }
    // An answer to a question that was asked then.
    void listed(journal::actor by, instant asked, const std::vector<view>& all);
    // Somebody waits until the members differ from these.
    number waits(journal::actor who, std::shared_ptr<const life> owner, std::vector<view> seen);
    void waits_no_more(number n) { waiting_.erase(n); }

    // ---- from the ensemble
    void committed(const transaction& t);

    void calm() noexcept { calm_ = time_.now(); }
    // Now and then, in the calm.
    void look();

private:
    struct joining {
        journal::actor who = 0;
        std::shared_ptr<const life> owner;
        view is;
        std::vector<words> next = {}; // it may say one of these by now
        instant since{};
        std::optional<instant> missing = {}; // since then no node has the name
    };
    struct waiter {
        journal::actor who = 0;
        std::shared_ptr<const life> owner;
        std::vector<view> seen;
        std::optional<instant> differs = {}; // since then, as was seen
    };
    // A node, with one of the texts that it has had.
    struct known {
        view is;
        instant from{};
        instant until = instant::max();
    };

    void look_at_node(const joining& j, const char* what);
    void look_at_member(joining& j);
    [[nodiscard]] std::vector<view> now() const;
    [[nodiscard]] std::string text_of(const joining& j) const;

    timeline& time_;
    findings& found_;
    journal& journal_;
    const queues& queues_;
    std::string path_;
    number last_ = 0;
    std::map<number, joining> joined_;
    std::map<number, waiter> waiting_;
    std::map<std::string, view> nodes_;
    std::vector<known> history_;
    std::map<std::string, std::int64_t> removed_; // by somebody else: whose node it was
    std::set<std::string> taken_out_;
    std::optional<instant> calm_;
};

} // namespace world::check
