#include <colock/recursive_mutex.hpp>

#include "lock/local/recursion.hpp"
#include "lock/lock_kind.hpp"

#include <memory>
#include <utility>

namespace colock {

lock_owner::lock_owner() : face_of{std::make_shared<detail::owner_state>()}
{
}

recursive_mutex::recursive_mutex(client& zk, std::string path)
    : recursive_mutex{zk, std::move(path), lock_options{}}
{
}

recursive_mutex::recursive_mutex(client& zk, std::string path, lock_options options)
    : basic_lock{zk, std::move(path), std::move(options), detail::lock_kind::recursive_mutex}
{
}

} // namespace colock
