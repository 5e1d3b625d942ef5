#include "queue/making_directory.hpp"

#include <algorithm>

namespace colock::protocol {

error_code outcome_of_making(std::span<const error_code> of_each) noexcept
{
    const auto is_there = [](const error_code& ec) {
        return !ec || ec == zookeeper_errc::node_exists;
    };
    if (!of_each.empty() && is_there(of_each.back())) {
        return {};
    }
    const auto obstacle = std::ranges::find_if_not(of_each, is_there);
    const bool absent = of_each.empty() || *obstacle == zookeeper_errc::no_node;
    if (absent && obstacle == of_each.begin()) {
        return errc::no_chroot; // what the first one is made in is always there without a chroot
    }
    // A parent that was there a moment ago was removed, being empty: begin again.
    return absent ? error_code{} : *obstacle;
}

} // namespace colock::protocol
