#include <colock/detail/access.hpp>
#include <colock/latch.hpp>

#include "recipes/rendezvous/gathering.hpp"

#include <utility>

namespace colock {

latch::latch(client& zk, std::string path, std::uint32_t count)
    : place_{detail::access::core(zk), std::move(path), count}
{
}

latch::executor_type latch::get_executor() const noexcept
{
    return place_.core->executor();
}

void latch::start_arrive(const std::shared_ptr<detail::client_core>& core,
                         detail::operation_ptr<error_code> op, detail::gathering_place place)
{
    detail::gather(core, std::move(op), std::move(place),
                   {.what = protocol::arrival::role::arrive});
}

void latch::start_count_down(const std::shared_ptr<detail::client_core>& core,
                             detail::operation_ptr<error_code> op, detail::gathering_place place)
{
    detail::gather(core, std::move(op), std::move(place),
                   {.what = protocol::arrival::role::count_down});
}

void latch::start_wait(const std::shared_ptr<detail::client_core>& core,
                       detail::operation_ptr<error_code> op, detail::gathering_place place)
{
    detail::gather(core, std::move(op), std::move(place), {.what = protocol::arrival::role::wait});
}

void latch::start_try_wait(const std::shared_ptr<detail::client_core>& core,
                           detail::operation_ptr<error_code, bool> op,
                           detail::gathering_place place)
{
    detail::gather(core, std::move(op), std::move(place), {.what = protocol::arrival::role::look});
}

} // namespace colock
