#include "changing_nodes.hpp"

#include <chrono>

namespace world {

using namespace std::chrono_literals;

void changing_nodes::begin(const std::vector<std::string>& paths)
{
    for (const auto& each : paths) {
        change(each);
        plan_next(each);
    }
}

void changing_nodes::plan_next(const std::string& path)
{
    time_.after(random_.between(1s, 10s), [this, path] {
        if (!over_) {
            change(path);
            plan_next(path);
        }
    });
}

void changing_nodes::change(const std::string& path)
{
    const auto child = path + "/child";
    const auto& now = servers_.decided();
    const auto create = [&](const std::string& which) {
        servers_.by_hand({.op = opcode::create, .path = which, .acl = colock::open_acl()});
    };
    if (now.find(path) == nullptr) {
        create(path);
        return;
    }
    const bool has_child = now.find(child) != nullptr;
    switch (random_.below(3)) {
    case 0:
        servers_.by_hand(
            {.op = opcode::set, .path = path, .data = std::to_string(random_.below(1000))});
        break;
    case 1: has_child ? (void)servers_.remove_by_hand(child) : create(child); break;
    default:
        if (has_child) {
            servers_.remove_by_hand(child);
        }
        servers_.remove_by_hand(path);
        if (random_.per_mille(500)) {
            create(path); // another one, at once
        }
        break;
    }
}

} // namespace world
