#include <colock/single_node_mutex.hpp>

#include "lock/lock_kind.hpp"

#include <utility>

namespace colock {

single_node_mutex::single_node_mutex(client& zk, std::string path)
    : single_node_mutex{zk, std::move(path), lock_options{}}
{
}

single_node_mutex::single_node_mutex(client& zk, std::string path, lock_options options)
    : basic_lock{zk, std::move(path), std::move(options), detail::lock_kind::single_node_mutex}
{
}

} // namespace colock
