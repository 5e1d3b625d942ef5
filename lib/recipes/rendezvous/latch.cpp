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

void latch::start_part(const std::shared_ptr<detail::client_core>& core,
                       detail::operation_ptr<error_code> op, detail::gathering_place place,
                       detail::gathering_role what)
{
    detail::gather(core, std::move(op), std::move(place), {.what = what});
}

void latch::start_try_wait(const std::shared_ptr<detail::client_core>& core,
                           detail::operation_ptr<error_code, bool> op,
                           detail::gathering_place place)
{
    detail::gather(core, std::move(op), std::move(place), {.what = detail::gathering_role::look});
}

} // namespace colock
