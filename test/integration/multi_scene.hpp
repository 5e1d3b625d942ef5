// Clients that take several locks at once, on a real server.
#pragma once

#include <support/lock_scene.hpp>

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace colock::test {

using clock = std::chrono::steady_clock;

// Never pings within a test.
inline const client_options quiet{.session_timeout = 40s};

struct multi_scene : lock_scene {
    multi_scene() { admin.create(directory); }

    // "a", "b", ... in the order of their names; the directories exist.
    std::string path(std::size_t i)
    {
        auto p = directory + '/' + static_cast<char>('a' + i);
        if (!admin.exists(p)) {
            admin.create(p);
        }
        paths.insert(p);
        return p;
    }
    mutex lock_of(client& c, std::size_t i) { return mutex{c, path(i), with_nodes()}; }
    multi_lock all_of(client& c, const std::vector<std::size_t>& which)
    {
        std::vector<lock_entry> entries;
        for (const auto i : which) {
            entries.emplace_back(lock_of(c, i));
        }
        return multi_lock{entries};
    }
    outcome<multi_guard> start_all(client& c, const std::vector<std::size_t>& which)
    {
        outcome<multi_guard> result;
        all_of(c, which).async_lock(result.handler());
        return result;
    }
    multi_guard hold_all(client& c, const std::vector<std::size_t>& which)
    {
        return value_of(io, start_all(c, which));
    }
    multi_guard try_all(client& c, const std::vector<std::size_t>& which)
    {
        outcome<multi_guard> result;
        all_of(c, which).async_try_lock(result.handler());
        return value_of(io, result);
    }
    unique_lock hold_one(client& c, std::size_t i)
    {
        outcome<unique_lock> result;
        lock_of(c, i).async_lock(result.handler());
        return value_of(io, result);
    }
    template <class Guard>
    error_code unlock(Guard& held)
    {
        outcome<> o;
        held.async_unlock(asio::bind_executor(io, o.handler()));
        return code_of(io, o);
    }

    // How many stand in the queues, one after the other.
    std::vector<std::size_t> queues(std::size_t number)
    {
        std::vector<std::size_t> sizes;
        for (std::size_t i = 0; i != number; ++i) {
            sizes.push_back(queue_of(path(i)).size());
        }
        return sizes;
    }
    bool queues_become(const std::vector<std::size_t>& wanted)
    {
        return until([&] { return queues(wanted.size()) == wanted; });
    }

    // As check_nothing_left(), in all these directories.
    void check_no_trace()
    {
        for (const auto& p : paths) {
            BOOST_TEST(until([&] { return queue_of(p).empty(); }), "a node is left in " + p);
        }
        BOOST_TEST(until([&] {
                       for (const auto& [p, watchers] : server.watches()) {
                           for (const auto session : watchers) {
                               if (sessions.contains(session)) {
                                   return false;
                               }
                           }
                       }
                       return true;
                   }),
                   "a watch is left on the server");
        for (const auto& c : clients) {
            BOOST_TEST(until([&] { return c.stats().contenders == 0; }));
        }
    }

    std::set<std::string> paths;
};

using sizes = std::vector<std::size_t>;

} // namespace colock::test
