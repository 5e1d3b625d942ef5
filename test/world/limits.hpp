// Who changes how many permits there are, in the nodes of colock::counter_node: up and down, while they are held.
#pragma once

#include "check/journal.hpp"
#include "simulated.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace world {

class limits {
public:
    limits(timeline& time, ensemble& servers, check::journal& notes, check::journal::actor name,
           random chance)
        : time_{time}, servers_{servers}, journal_{notes}, name_{name}, random_{chance},
          careless_{random_.per_mille(200)}
    {
    }
    limits(const limits&) = delete;
    limits& operator=(const limits&) = delete;

    void add(std::string node, std::int64_t most) { counters_.push_back({std::move(node), most}); }
    void begin();
    // Each number is the largest one again, soon.
    void end() { over_ = true; }

private:
    struct counter {
        std::string node;
        std::int64_t most;
    };

    void plan_next();
    void look(const counter& c);
    void write(const std::string& node, const std::string& data);

    timeline& time_;
    ensemble& servers_;
    check::journal& journal_;
    check::journal::actor name_;
    random random_;
    bool careless_; // now and then deletes a node, or writes something else than a number
    bool over_ = false;
    std::vector<counter> counters_;
};

} // namespace world
