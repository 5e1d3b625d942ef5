#include "answers.hpp"

#include "protocol/planted.hpp"

#include <algorithm>

namespace colock::protocol {

error_code outcome_of_making(std::span<const error_code> of_each) noexcept
{
    const auto is_there = [](const error_code& ec) {
        return !ec || ec == zookeeper_errc::node_exists;
    };
    if (of_each.empty()) {
        return zookeeper_errc::no_node; // the chroot is missing
    }
    if (is_there(of_each.back())) {
        return {};
    }
    const auto obstacle = std::ranges::find_if_not(of_each, is_there);
    // A parent that was there a moment ago was removed, being empty: begin again.
    const bool removed = *obstacle == zookeeper_errc::no_node && obstacle != of_each.begin();
    return removed && !planted("removed ancestor not made again") ? error_code{} : *obstacle;
}

} // namespace colock::protocol
