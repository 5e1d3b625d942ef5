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

    // How the client's own operations begin.
    static constexpr auto children = &client::start_children;
    static constexpr auto watch_data = &client::start_watch_data;
    static constexpr auto watch_exists = &client::start_watch_exists;
    static constexpr auto watch_children = &client::start_watch_children;
};

} // namespace colock::detail

#endif
