// The locks that derive from detail::lock_functions: what they are besides is the row of their kind.
#include <colock/mutex.hpp>
#include <colock/recursive_mutex.hpp>
#include <colock/shared_mutex.hpp>
#include <colock/single_node_mutex.hpp>

#include "names/kinds.hpp"

#include <utility>

namespace colock {

mutex::mutex(client& zk, std::string path, lock_options options)
    : lock_functions{zk, std::move(path), std::move(options), detail::kinds::mutex}
{
}

recursive_mutex::recursive_mutex(client& zk, std::string path, lock_options options)
    : lock_functions{zk, std::move(path), std::move(options), detail::kinds::recursive_mutex}
{
}

shared_mutex::shared_mutex(client& zk, std::string path, lock_options options)
    : lock_functions{zk, std::move(path), std::move(options), detail::kinds::shared_mutex}
{
}

single_node_mutex::single_node_mutex(client& zk, std::string path, lock_options options)
    : lock_functions{zk, std::move(path), std::move(options), detail::kinds::single_node_mutex}
{
}

} // namespace colock
