#include <colock/shared_mutex.hpp>

#include "lock/local/lock_path.hpp"

namespace colock {

shared_mutex::shared_mutex(client& c, std::string path)
    : shared_mutex{c, std::move(path), lock_options{.layout = curator_shared_layout()}}
{
}

shared_mutex::shared_mutex(client& c, std::string path, lock_options options)
    : path_{std::make_shared<detail::lock_path>(c.core_, std::move(path), std::move(options),
                                                detail::lock_kind::shared_mutex)}
{
}

shared_mutex::executor_type shared_mutex::get_executor() const noexcept
{
    return path_->core->executor();
}

const std::string& shared_mutex::path() const noexcept
{
    return path_->path;
}

const lock_options& shared_mutex::options() const noexcept
{
    return path_->options;
}

} // namespace colock
