#include <colock/mutex.hpp>

#include "lock_path.hpp"

namespace colock {

mutex::mutex(client& c, std::string path) : mutex{c, std::move(path), lock_options{}}
{
}

mutex::mutex(client& c, std::string path, lock_options options)
    : path_{std::make_shared<detail::lock_path>(c.core_, std::move(path), std::move(options))}
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

detail::initiate<error_code, unique_lock> mutex::initiation() const
{
    return {path_->core->executor(), path_->core};
}

void mutex::start_lock(const std::shared_ptr<detail::client_core>&,
                       detail::operation_ptr<error_code, unique_lock> op,
                       const std::shared_ptr<const detail::lock_path>& path, detail::deadline until)
{
    path->lock(std::move(op), until);
}

} // namespace colock
