// An operator who changes the access control lists of directories while programs contend there, and opens them again.
#pragma once

#include "check/holds.hpp"
#include "check/journal.hpp"
#include "check/queues.hpp"
#include "simulated.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace world {

class access_changes {
public:
    access_changes(timeline& time, ensemble& servers, const check::queues& queues,
                   const check::holds& holds, check::journal& notes, check::journal::actor name,
                   random chance)
        : time_{time}, servers_{servers}, queues_{queues}, holds_{holds}, journal_{notes},
          name_{name}, random_{chance}, takes_delete_{random_.per_mille(400)}
    {
    }
    access_changes(const access_changes&) = delete;
    access_changes& operator=(const access_changes&) = delete;

    // `watched`: clients watch its children. An event goes only to clients that may read the node, and no client can
    // know that it has missed one. So everybody may always read such a directory.
    void add(std::string path, bool watched) { directories_.push_back({std::move(path), watched}); }
    void begin();
    // All directories are open to all, soon.
    void end() { over_ = true; }
    // A client that may not delete its node, or not look what its create has made, says so in its log and leaves the node
    // until its session ends. The operator deletes such nodes when they have been the first for so long, and nobody
    // holds the lock. True when there was one.
    bool tidy(std::chrono::nanoseconds limit, const std::set<std::int64_t>& of_sessions);

private:
    struct directory {
        std::string path;
        bool watched;
    };

    void plan_next();
    void look(const directory& d);
    void set(const directory& d, const colock::access_control_list& acl);
    [[nodiscard]] colock::access_control_list some_list(bool watched);

    timeline& time_;
    ensemble& servers_;
    const check::queues& queues_;
    const check::holds& holds_;
    check::journal& journal_;
    check::journal::actor name_;
    random random_;
    bool takes_delete_;
    bool over_ = false;
    std::vector<directory> directories_;
};

} // namespace world
