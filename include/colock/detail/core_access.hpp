// The way from a client to what is behind it, for functions that are no members.
#ifndef COLOCK_DETAIL_CORE_ACCESS_HPP
#define COLOCK_DETAIL_CORE_ACCESS_HPP

#include <colock/client.hpp>

#include <memory>

namespace colock::detail {

struct core_access {
    [[nodiscard]] static const std::shared_ptr<client_core>& of(const client& c) noexcept
    {
        return c.core_;
    }
};

} // namespace colock::detail

#endif
