// Clients that look into a queue from outside, on a real server.
#pragma once

#include <colock/queue_view.hpp>
#include <support/lock_scene.hpp>

#include <optional>
#include <string>
#include <utility>

namespace colock::test {

struct view_scene : lock_scene {
    outcome<queue_view> start_view(client& c, layout l = curator_layout())
    {
        outcome<queue_view> o;
        async_view_queue(c, directory, std::move(l), o.handler());
        return o;
    }
    queue_view view(client& c, layout l = curator_layout())
    {
        return value_of(io, start_view(c, std::move(l)));
    }
    outcome<shared_lock> start_read(client& c)
    {
        outcome<shared_lock> o;
        shared_mutex{c, directory}.async_lock_shared(o.handler());
        return o;
    }
    outcome<unique_lock> start_write(client& c)
    {
        outcome<unique_lock> o;
        shared_mutex{c, directory}.async_lock(o.handler());
        return o;
    }
    outcome<std::size_t> start_wait(client& c, const std::string& name,
                                    std::optional<std::size_t> seen, layout l = curator_layout())
    {
        outcome<std::size_t> o;
        async_wait_position(c, directory + '/' + name, std::move(l), seen, o.handler());
        return o;
    }
    std::size_t position_now(client& c, const std::string& name, layout l = curator_layout())
    {
        return value_of(io, start_wait(c, name, {}, std::move(l)));
    }
    bool watches_children(std::int64_t n)
    {
        return until([&] { return child_watches() == n; });
    }
    bool queue_grows_to(std::size_t n)
    {
        return until([&] { return queue().size() == n; });
    }
};

} // namespace colock::test
