// What a lock is. Immutable: lock objects, queues and contenders of a path share it.
#pragma once

#include <colock/lock_options.hpp>

#include "names/kinds.hpp"
#include "names/path.hpp"
#include "names/shared_layout.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace colock::detail {

struct lock_config {
    std::string path;
    lock_options options; // with a layout, where there is a queue
    const lock_kind& kind;

    // The path of a node. Without a queue there is but one.
    [[nodiscard]] std::string node(std::string_view name) const
    {
        return kind.has_queue ? protocol::join_path(path, name) : path;
    }
};

using lock_config_ptr = std::shared_ptr<const lock_config>;

[[nodiscard]] inline protocol::shared_layout layout_of(const lock_config_ptr& config)
{
    return std::shared_ptr<const layout>{config, &*config->options.layout};
}

} // namespace colock::detail
