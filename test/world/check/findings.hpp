// What a check has found wrong.
#pragma once

#include "simulated.hpp"

#include <string>
#include <utility>
#include <vector>

namespace world::check {

struct violation {
    instant when;
    const char* check; // its name, such as "G1 exclusion"
    std::string seen;
};

// One fault is often seen by many checks, and at many instants: the first ones tell most.
class findings {
public:
    explicit findings(timeline& time) noexcept : time_{time} {}

    void add(const char* check, std::string seen)
    {
        ++count_;
        if (first_.size() < 20) {
            first_.push_back({time_.now(), check, std::move(seen)});
        }
    }

    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    [[nodiscard]] const std::vector<violation>& first() const noexcept { return first_; }

private:
    timeline& time_;
    std::size_t count_ = 0;
    std::vector<violation> first_;
};

} // namespace world::check
