#include <colock/mutex.hpp>

#include "lock/lock_kind.hpp"

#include <utility>

namespace colock {

mutex::mutex(client& zk, std::string path) : mutex{zk, std::move(path), lock_options{}}
{
}

mutex::mutex(client& zk, std::string path, lock_options options)
    : basic_lock{zk, std::move(path), std::move(options), detail::lock_kind::mutex}
{
}

} // namespace colock
