#include <colock/mutex.hpp>

#include "lock/lock_kind.hpp"

#include <utility>

namespace colock {

mutex::mutex(client& c, std::string path) : mutex{c, std::move(path), lock_options{}}
{
}

mutex::mutex(client& c, std::string path, lock_options options)
    : basic_lock{c, std::move(path), std::move(options), detail::lock_kind::mutex}
{
}

} // namespace colock
