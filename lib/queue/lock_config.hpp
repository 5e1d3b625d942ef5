// What a lock is. Immutable: lock objects, queues and contenders of a path share it.
#pragma once

#include <colock/lock_options.hpp>

#include "names/kinds.hpp"
#include "names/shared_layout.hpp"

#include <memory>
#include <string>

namespace colock::detail {

struct lock_config {
    std::string path;
    lock_options options; // with a layout
    const lock_kind& kind;
};

using lock_config_ptr = std::shared_ptr<const lock_config>;

[[nodiscard]] inline protocol::shared_layout layout_of(const lock_config_ptr& config)
{
    return std::shared_ptr<const layout>{config, &*config->options.layout};
}

} // namespace colock::detail
