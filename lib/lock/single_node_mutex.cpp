#include <colock/single_node_mutex.hpp>

#include "lock/local/lock_path.hpp"

namespace colock {

single_node_mutex::single_node_mutex(client& c, std::string path)
    : single_node_mutex{c, std::move(path), lock_options{}}
{
}

single_node_mutex::single_node_mutex(client& c, std::string path, lock_options options)
    : path_{std::make_shared<detail::lock_path>(c.core_, std::move(path), std::move(options),
                                                detail::lock_kind::single_node_mutex)}
{
}

single_node_mutex::executor_type single_node_mutex::get_executor() const noexcept
{
    return path_->core->executor();
}

const std::string& single_node_mutex::path() const noexcept
{
    return path_->path;
}

const lock_options& single_node_mutex::options() const noexcept
{
    return path_->options;
}

} // namespace colock
