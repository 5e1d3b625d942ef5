#include "strategy.hpp"

#include "protocol/planted.hpp"

#include <algorithm>
#include <utility>

namespace colock::protocol {

command create_and_count(directory_memory& m, std::string prefix)
{
    if (!planted("fast path tried twice")) {
        m.tried();
    }
    return {.type = command::kind::create_and_count,
            .name = std::move(prefix),
            .number = planted("any version replaced") ? -1 : m.version()};
}

void mark_answered(directory_memory& m, const error_code& ec, const directory_write& w) noexcept
{
    if (!ec) {
        m.marked(w.now.czxid, w.now.version);
    } else if (!outcome_unknown(ec)) {
        m.refused();
        if (w.error == zookeeper_errc::no_auth && !planted("refused for good, and tried again")) {
            m.forbidden();
        }
    }
}

void prepare_fast_path(const directory_memory& m, const std::string& own_name, commands& out)
{
    if (m.is_worth_reading()) {
        out.push_back({command::kind::identify_directory});
    } else if (m.is_worth_marking()) {
        out.push_back(
            {.type = command::kind::mark_directory, .name = own_name, .number = m.version()});
    }
}

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
