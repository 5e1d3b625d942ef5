// Nodes that programs watch, and the operator who changes them now and then, until the trouble is over: a client that
// misses the last change has nothing else to hear.
#pragma once

#include "simulated.hpp"

#include <string>
#include <vector>

namespace world {

class changing_nodes {
public:
    changing_nodes(timeline& time, ensemble& servers, random chance)
        : time_{time}, servers_{servers}, random_{chance}
    {
    }
    changing_nodes(const changing_nodes&) = delete;
    changing_nodes& operator=(const changing_nodes&) = delete;

    void begin(const std::vector<std::string>& paths);
    void end() { over_ = true; }

private:
    void plan_next(const std::string& path);
    void change(const std::string& path);

    timeline& time_;
    ensemble& servers_;
    random random_;
    bool over_ = false;
};

} // namespace world
