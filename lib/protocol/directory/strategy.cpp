#include "strategy.hpp"

#include "protocol/planted.hpp"

#include <algorithm>
#include <utility>

namespace colock::protocol {

bool directory_strategy::expects_nobody(const rules& r) const noexcept
{
    return r.fast_path && !r.lingers && memory_->expects_nobody();
}

command directory_strategy::create_and_count(std::string prefix) const
{
    if (!planted("fast path tried twice")) {
        memory_->tried();
    }
    return {.type = command::kind::create_and_count,
            .name = std::move(prefix),
            .number = planted("any version replaced") ? -1 : memory_->version()};
}

void directory_strategy::marked(const error_code& ec, const directory_write& w) const noexcept
{
    if (!ec) {
        memory_->marked(w.now.czxid, w.now.version);
    } else if (!outcome_unknown(ec)) {
        memory_->refused();
        if (w.error == zookeeper_errc::no_auth && !planted("refused for good, and tried again")) {
            memory_->forbidden();
        }
    }
}

void directory_strategy::mark_denied() const noexcept
{
    if (!planted("mark denied, and written again")) {
        memory_->forbidden();
    }
}

bool directory_strategy::may_write_mark() const noexcept
{
    return memory_->is_writable();
}

void directory_strategy::granted(const rules& r, const std::string& own_name, std::int64_t number,
                                 bool met_siblings, bool try_only, commands& out) const
{
    if (met_siblings && !planted("listed siblings forgotten")) {
        memory_->met_others();
        return;
    }
    memory_->granted_alone(number);
    if (!r.fast_path || r.lingers || try_only) {
        return;
    }
    if (memory_->is_worth_reading()) {
        out.push_back({command::kind::identify_directory});
    } else if (memory_->is_worth_marking()) {
        out.push_back({.type = command::kind::mark_directory,
                       .name = own_name,
                       .number = memory_->version()});
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
    return removed ? error_code{} : *obstacle;
}

} // namespace colock::protocol
