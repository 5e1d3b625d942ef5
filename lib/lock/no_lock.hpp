// The guard that comes with an error.
#pragma once

#include <colock/detail/access.hpp>
#include <colock/unique_lock.hpp>

#include <memory>
#include <utility>

namespace colock::detail {

// Holds nothing, but knows the client's executor.
inline unique_lock no_lock(std::shared_ptr<client_core> core)
{
    return access::make<unique_lock>(std::move(core));
}

} // namespace colock::detail
