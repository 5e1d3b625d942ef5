#include <colock/barrier.hpp>
#include <colock/detail/access.hpp>

#include "recipes/rendezvous/gathering.hpp"

#include <utility>

namespace colock {

barrier::barrier(client& zk, std::string path, std::uint32_t count)
    : place_{detail::access::core(zk), std::move(path), count}
{
}

barrier::executor_type barrier::get_executor() const noexcept
{
    return place_.core->executor();
}

void barrier::start_part(const std::shared_ptr<detail::client_core>& core,
                         detail::operation_ptr<error_code, std::uint64_t> op,
                         detail::gathering_place place, detail::gathering_role what,
                         std::optional<std::uint64_t> phase)
{
    detail::gather(core, std::move(op), std::move(place),
                   {.what = what, .reusable = true, .phase = phase});
}

} // namespace colock
