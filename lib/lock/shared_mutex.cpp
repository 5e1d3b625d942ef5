#include <colock/shared_mutex.hpp>

#include "lock/lock_kind.hpp"

#include <utility>

namespace colock {

shared_mutex::shared_mutex(client& zk, std::string path)
    : shared_mutex{zk, std::move(path), lock_options{}}
{
}

shared_mutex::shared_mutex(client& zk, std::string path, lock_options options)
    : basic_lock{zk, std::move(path), std::move(options), detail::lock_kind::shared_mutex}
{
}

} // namespace colock
