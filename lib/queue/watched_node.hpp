// A node on which a contender has, or has asked for, a one-shot watch.
#pragma once

#include "queue/command.hpp"

#include <string_view>

namespace colock::protocol::queue {

class watched_node {
public:
    // Whether there is one: its watch is set, or has been asked for.
    explicit operator bool() const noexcept { return !name_.empty(); }
    [[nodiscard]] bool is(std::string_view name) const noexcept { return *this && name_ == name; }
    [[nodiscard]] const node_name& name() const noexcept { return name_; }
    // The watch is set, and silent. Events and answers come in ZooKeeper's order, so the node existed when the latest of
    // them was sent.
    [[nodiscard]] bool is_armed() const noexcept { return armed_; }

    void arm(node_name name, commands& out);
    // The answer: the watch is set.
    void armed() noexcept { armed_ = true; }
    // The watch is gone: it has fired, was not set, or its connection is lost.
    void forget() noexcept { *this = {}; }
    void drop(commands& out);

    friend bool operator==(const watched_node&, const watched_node&) = default;

private:
    node_name name_;
    bool armed_ = false;
};

} // namespace colock::protocol::queue
