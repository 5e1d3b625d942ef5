#ifndef COLOCK_TEST_SUPPORT_LOCK_SCENE_HPP
#define COLOCK_TEST_SUPPORT_LOCK_SCENE_HPP

#include <colock/colock.hpp>
#include <support/admin_session.hpp>
#include <support/link.hpp>
#include <support/outcome.hpp>
#include <support/password_of.hpp>
#include <support/print.hpp>
#include <support/session_killer.hpp>
#include <support/tcp_proxy.hpp>
#include <support/wait_until.hpp>
#include <support/zookeeper_server.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <list>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

using namespace std::chrono_literals;

/// One server for all cases of a program; a case that stops or kills one starts its own.
inline zookeeper_server& common_server()
{
    static zookeeper_server server{link_servers()};
    return server;
}

/// A directory that no other case of the program uses. It does not exist yet.
inline std::string fresh_directory()
{
    static int number = 0;
    return "/lock" + std::to_string(++number);
}

/// What the cases about locks have in common: a server, an operator, clients that share one context and
/// this thread, and a directory of their own.
/** Clients act only while the context is run, by the functions that wait for something. */
struct lock_scene {
    explicit lock_scene(zookeeper_server& s = common_server(), std::string path = fresh_directory())
        : server{s}, admin{s.connect_string()}, directory{std::move(path)}
    {
    }
    lock_scene(const lock_scene&) = delete;
    lock_scene& operator=(const lock_scene&) = delete;

    /// Ends the sessions, so that nothing of this case is left for the next one.
    ~lock_scene()
    {
        try {
            close_all();
        } catch (...) {
        }
    }

    /// A connected client. `options.hosts` is filled in when it is empty.
    client& connect(client_options options = {})
    {
        if (options.hosts.empty()) {
            options.hosts = link_hosts(server);
        }
        auto& c = clients.emplace_back(io, link_client(std::move(options)));
        outcome<> connected;
        c.async_connect(connected.handler());
        value_of(io, connected);
        sessions.insert(c.session_id());
        return c;
    }
    client& connect_through(const tcp_proxy& proxy, client_options options = {})
    {
        options.hosts = proxy.connect_string();
        return connect(std::move(options));
    }

    outcome<unique_lock> start_lock(client& c, lock_options options = {})
    {
        outcome<unique_lock> o;
        mutex{c, directory, with_nodes(std::move(options))}.async_lock(o.handler());
        return o;
    }
    outcome<unique_lock> start_try_lock(client& c, lock_options options = {})
    {
        outcome<unique_lock> o;
        mutex{c, directory, with_nodes(std::move(options))}.async_try_lock(o.handler());
        return o;
    }

    /// Most cases are about the queue on the server: there each waiter shall have a node.
    lock_options with_nodes(lock_options options = {}) const
    {
        if (!share_nodes) {
            options.max_local_grants = 0;
        }
        return options;
    }
    unique_lock hold(client& c, lock_options options = {})
    {
        return value_of(io, start_lock(c, std::move(options)));
    }

    /// A lock that has to wait: returns once its node is in the queue.
    outcome<unique_lock> start_waiter(client& c, lock_options options = {})
    {
        const auto before = queue().size();
        auto o = start_lock(c, std::move(options));
        if (!until([&] { return queue().size() > before; }) || o.done()) {
            throw std::runtime_error("the lock does not wait");
        }
        return o;
    }

    error_code unlock(unique_lock& held)
    {
        outcome<> o;
        // An empty guard has no executor but the system's, which has threads of its own.
        held.async_unlock(asio::bind_executor(io, o.handler()));
        return code_of(io, o);
    }

    /// The children of the directory, in the order of their numbers.
    std::vector<std::string> queue() { return queue_of(directory); }
    std::vector<std::string> queue_of(const std::string& path)
    {
        std::vector<std::string> names;
        try {
            names = admin.children(path);
        } catch (const admin_error& e) {
            if (e.code() != -101) {
                throw;
            }
        }
        const auto number = [](const std::string& name) {
            return name.size() < 10 ? name : name.substr(name.size() - 10);
        };
        std::ranges::sort(names, {}, number);
        return names;
    }

    template <class Condition>
    bool until(Condition&& condition, std::chrono::milliseconds limit = long_enough)
    {
        return becomes_true(io, condition, limit);
    }

    /// The paths that a client watches, as the server sees it.
    std::set<std::string> watches_of(const client& c)
    {
        std::set<std::string> paths;
        for (const auto& [path, watchers] : server.watches()) {
            if (watchers.contains(c.session_id())) {
                paths.insert(path);
            }
        }
        return paths;
    }

    /// The watches of all clients on the children of nodes, which the server does not list, but counts.
    std::int64_t child_watches()
    {
        auto number = server.watch_count();
        for (const auto& [path, watchers] : server.watches()) {
            number -= static_cast<std::int64_t>(watchers.size());
        }
        return number;
    }

    /// Waits until a client watches so many paths: those of a waiter are its own node and the one or two
    /// before it; a holder watches its own, if it holds for longer than a moment.
    bool wait_for_watches(const client& c, std::size_t number)
    {
        return until([&] { return watches_of(c).size() == number; });
    }

    /// G3: no node, no watch of this case's sessions, nothing under way in the clients.
    void check_nothing_left()
    {
        BOOST_TEST(until([&] { return queue().empty(); }), "a node is left in " + directory);
        BOOST_TEST(until([&] {
                       for (const auto& [path, watchers] : server.watches()) {
                           for (const auto session : watchers) {
                               if (sessions.contains(session)) {
                                   return false;
                               }
                           }
                       }
                       return true;
                   }),
                   "a watch is left on the server");
        BOOST_TEST(until([&] { return child_watches() == 0; }), "a watch on children is left");
        for (const auto& c : clients) {
            BOOST_TEST(until([&] { return c.stats().contenders == 0; }));
        }
    }

    void close_all()
    {
        std::vector<outcome<>> closing;
        for (auto& c : clients) {
            c.async_close(closing.emplace_back().handler());
        }
        run_until(io, [&] {
            return std::ranges::all_of(closing, [](const auto& o) { return o.done(); });
        });
        clients.clear();
    }

    bool share_nodes = false; // among the waiters of a client, as is the default of the library
    zookeeper_server& server;
    asio::io_context io;
    admin_session admin; // the operator
    const std::string directory;
    std::set<std::int64_t> sessions; // of the clients when they connected
    std::list<client> clients;
};

} // namespace colock::test

#endif
