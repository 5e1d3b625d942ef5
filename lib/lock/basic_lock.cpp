#include <colock/client.hpp>
#include <colock/detail/basic_lock.hpp>
#include <colock/queue_view.hpp>

#include "lock/lock_path.hpp"

#include <utility>

namespace colock::detail {

basic_lock::basic_lock(client& zk, std::string path, lock_options options, const lock_kind& kind)
    : face_of{
          std::make_shared<lock_path>(access::core(zk), std::move(path), std::move(options), kind)}
{
}

basic_lock::executor_type basic_lock::get_executor() const noexcept
{
    return behind()->core->executor();
}

const std::string& basic_lock::path() const noexcept
{
    return behind()->path();
}

const lock_options& basic_lock::options() const noexcept
{
    return behind()->options();
}

queue_place place_of(const basic_lock& lock)
{
    const auto& of = *access::behind(lock);
    return {of.core, of.path(), *of.options().layout};
}

} // namespace colock::detail
