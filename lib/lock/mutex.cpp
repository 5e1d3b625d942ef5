#include <colock/mutex.hpp>

#include "lock/local/lock_path.hpp"

namespace colock {

mutex::mutex(client& c, std::string path) : mutex{c, std::move(path), lock_options{}}
{
}

mutex::mutex(client& c, std::string path, lock_options options)
    : path_{std::make_shared<detail::lock_path>(c.core_, std::move(path), std::move(options),
                                                detail::lock_kind::mutex)}
{
}

mutex::executor_type mutex::get_executor() const noexcept
{
    return path_->core->executor();
}

const std::string& mutex::path() const noexcept
{
    return path_->path;
}

const lock_options& mutex::options() const noexcept
{
    return path_->options;
}

} // namespace colock
