// How an acquisition of a lock fails.
#pragma once

#include <colock/detail/access.hpp>
#include <colock/unique_lock.hpp>

#include "session/core.hpp"

#include <memory>
#include <string>
#include <utility>

namespace colock::detail {

// Holds nothing, but knows the client's executor.
inline unique_lock no_lock(std::shared_ptr<client_core> core)
{
    return access::make<unique_lock>(std::move(core));
}

inline void refuse(const std::shared_ptr<client_core>& core,
                   operation_ptr<error_code, unique_lock> op, const error_code& ec,
                   const std::string& why)
{
    op->explain(ec, why);
    op.complete(ec, no_lock(core));
}

} // namespace colock::detail
