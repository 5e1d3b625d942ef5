#include "queue/watched_node.hpp"

#include <utility>

namespace colock::protocol::queue {

void watched_node::arm(node_name name, commands& out)
{
    name_ = std::move(name);
    armed_ = false;
    out.push_back({command::kind::watch, name_});
}

void watched_node::drop(commands& out)
{
    if (*this) {
        out.push_back({command::kind::unwatch, name_});
    }
    forget();
}

} // namespace colock::protocol::queue
