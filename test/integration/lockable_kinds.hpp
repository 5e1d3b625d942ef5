// Every kind of lock behind one face, for what all of them promise.
#ifndef COLOCK_TEST_INTEGRATION_LOCKABLE_KINDS_HPP
#define COLOCK_TEST_INTEGRATION_LOCKABLE_KINDS_HPP

#include <support/lock_scene.hpp>

#include <boost/mp11/list.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace colock::test {

// Kinds: `lock`, `try_lock` and `try_lock_for` give a `guard`, which `unlock` gives back.
template <class Lock, class Guard = unique_lock>
struct plain_kind {
    using guard = Guard;
    using rival = plain_kind; // holds the lock so that no other can have it
    plain_kind(client& c, const std::string& path, lock_options o = {}) : of{c, path, std::move(o)}
    {
    }
    explicit plain_kind(Lock l) : of{std::move(l)} {}

    template <class Token>
    void lock(Token&& token)
    {
        of.async_lock(std::forward<Token>(token));
    }
    template <class Token>
    void try_lock(Token&& token)
    {
        of.async_try_lock(std::forward<Token>(token));
    }
    template <class Limit, class Token>
    void try_lock_for(Limit limit, Token&& token)
    {
        of.async_try_lock_for(limit, std::forward<Token>(token));
    }
    template <class Body, class Token>
    void with_lock(Body&& body, Token&& token)
    {
        of.async_with_lock(std::forward<Body>(body), std::forward<Token>(token));
    }
    template <class Body, class Token>
    void try_with_lock(Body&& body, Token&& token)
    {
        of.async_try_with_lock(std::forward<Body>(body), std::forward<Token>(token));
    }
    template <class Limit, class Body, class Token>
    void try_with_lock_for(Limit limit, Body&& body, Token&& token)
    {
        of.async_try_with_lock_for(limit, std::forward<Body>(body), std::forward<Token>(token));
    }
    template <class Held, class Token>
    static void unlock(Held& held, Token&& token)
    {
        held.async_unlock(std::forward<Token>(token));
    }

    Lock of;
};

struct a_mutex : plain_kind<mutex> {
    using rival = a_mutex;
    using plain_kind::plain_kind;
};

struct a_single_node_mutex : plain_kind<single_node_mutex> {
    using rival = a_single_node_mutex;
    using plain_kind::plain_kind;
};

struct a_writer : plain_kind<shared_mutex> {
    using rival = a_writer;
    using plain_kind::plain_kind;
};

struct a_reader : a_writer {
    using guard = shared_lock;
    using rival = a_writer;
    using a_writer::a_writer;

    template <class Token>
    void lock(Token&& token)
    {
        of.async_lock_shared(std::forward<Token>(token));
    }
    template <class Token>
    void try_lock(Token&& token)
    {
        of.async_try_lock_shared(std::forward<Token>(token));
    }
    template <class Limit, class Token>
    void try_lock_for(Limit limit, Token&& token)
    {
        of.async_try_lock_shared_for(limit, std::forward<Token>(token));
    }
    template <class Body, class Token>
    void with_lock(Body&& body, Token&& token)
    {
        of.async_with_lock_shared(std::forward<Body>(body), std::forward<Token>(token));
    }
    template <class Body, class Token>
    void try_with_lock(Body&& body, Token&& token)
    {
        of.async_try_with_lock_shared(std::forward<Body>(body), std::forward<Token>(token));
    }
    template <class Limit, class Body, class Token>
    void try_with_lock_for(Limit limit, Body&& body, Token&& token)
    {
        of.async_try_with_lock_shared_for(limit, std::forward<Body>(body),
                                          std::forward<Token>(token));
    }
};

struct a_recursive_mutex : plain_kind<recursive_mutex, recursive_lock> {
    using rival = a_recursive_mutex;
    using plain_kind::plain_kind;

    template <class Token>
    void lock(Token&& token)
    {
        of.async_lock(*owner, std::forward<Token>(token));
    }
    template <class Token>
    void try_lock(Token&& token)
    {
        of.async_try_lock(*owner, std::forward<Token>(token));
    }
    template <class Limit, class Token>
    void try_lock_for(Limit limit, Token&& token)
    {
        of.async_try_lock_for(*owner, limit, std::forward<Token>(token));
    }
    template <class Body, class Token>
    void with_lock(Body&& body, Token&& token)
    {
        of.async_with_lock(*owner, std::forward<Body>(body), std::forward<Token>(token));
    }
    template <class Body, class Token>
    void try_with_lock(Body&& body, Token&& token)
    {
        of.async_try_with_lock(*owner, std::forward<Body>(body), std::forward<Token>(token));
    }
    template <class Limit, class Body, class Token>
    void try_with_lock_for(Limit limit, Body&& body, Token&& token)
    {
        of.async_try_with_lock_for(*owner, limit, std::forward<Body>(body),
                                   std::forward<Token>(token));
    }

    std::shared_ptr<lock_owner> owner = std::make_shared<lock_owner>();
};

struct a_semaphore {
    using guard = permit;
    using rival = a_semaphore;

    a_semaphore(client& c, const std::string& path, lock_options o = {})
        : of{c, path, 1, std::move(o)}
    {
    }

    template <class Token>
    void lock(Token&& token)
    {
        of.async_acquire(1, std::forward<Token>(token));
    }
    template <class Token>
    void try_lock(Token&& token)
    {
        of.async_try_acquire(1, std::forward<Token>(token));
    }
    template <class Limit, class Token>
    void try_lock_for(Limit limit, Token&& token)
    {
        of.async_try_acquire_for(1, limit, std::forward<Token>(token));
    }
    template <class Body, class Token>
    void with_lock(Body&& body, Token&& token)
    {
        of.async_with_permits(std::forward<Body>(body), std::forward<Token>(token));
    }
    template <class Body, class Token>
    void try_with_lock(Body&& body, Token&& token)
    {
        of.async_try_with_permits(std::forward<Body>(body), std::forward<Token>(token));
    }
    template <class Limit, class Body, class Token>
    void try_with_lock_for(Limit limit, Body&& body, Token&& token)
    {
        of.async_try_with_permits_for(limit, std::forward<Body>(body), std::forward<Token>(token));
    }
    template <class Token>
    static void unlock(guard& held, Token&& token)
    {
        held.async_release(std::forward<Token>(token));
    }

    semaphore of;
};

// A mutex and a permit.
struct several_locks : plain_kind<multi_lock, multi_guard> {
    using rival = several_locks;

    several_locks(client& c, const std::string& path, const lock_options& o = {})
        : plain_kind{multi_lock{mutex{c, path, o}, semaphore{c, path + "-permits", 1, o}}}
    {
    }
};

using kinds = boost::mp11::mp_list<a_mutex, a_recursive_mutex, a_writer, a_reader, a_semaphore,
                                   a_single_node_mutex, several_locks>;

template <class Kind>
struct kind_scene : lock_scene {
    using guard = typename Kind::guard;
    using rival = typename Kind::rival;

    outcome<guard> start(Kind kind)
    {
        outcome<guard> o;
        kind.lock(o.handler());
        return o;
    }
    guard take(client& c, lock_options o = {})
    {
        return value_of(io, start(Kind{c, directory, std::move(o)}));
    }
    outcome<guard> start_try(Kind kind)
    {
        outcome<guard> o;
        kind.try_lock(o.handler());
        return o;
    }
    template <class Limit>
    outcome<guard> start_for(Kind kind, Limit limit)
    {
        outcome<guard> o;
        kind.try_lock_for(limit, o.handler());
        return o;
    }
    auto occupy(client& c)
    {
        outcome<typename rival::guard> o;
        rival{c, directory}.lock(o.handler());
        return value_of(io, o);
    }
    error_code unlock(guard& held)
    {
        outcome<> o;
        // An empty guard has no executor but the system's, which has threads of its own.
        Kind::unlock(held, asio::bind_executor(io, o.handler()));
        return code_of(io, o);
    }
    // What there is below the path of the lock, and beside it, besides the directories.
    std::size_t nodes()
    {
        std::size_t found = 0;
        for (const auto& path : {directory, directory + "/locks", directory + "/leases",
                                 directory + "-permits/locks", directory + "-permits/leases"}) {
            for (const auto& name : queue_of(path)) {
                found += name == "locks" || name == "leases" ? 0U : 1U;
            }
            const auto node = admin.exists(path);
            found += node && node->ephemeral_owner != 0 ? 1U : 0U;
        }
        return found;
    }
    // Its first acquisition, whether the handler has run or not. The queue of a semaphore has a lock of its own.
    bool is_granted(const client& c)
    {
        const auto now = c.stats();
        const bool has_permits =
            std::is_same_v<Kind, a_semaphore> || std::is_same_v<Kind, several_locks>;
        return now.locks_granted != 0 && now.in_flight == 0 &&
               (!has_permits || !queue_of(directory + "/leases").empty() ||
                !queue_of(directory + "-permits/leases").empty());
    }
    // As an operator does it: whatever nodes() counts.
    void delete_nodes()
    {
        for (const auto& path : {directory, directory + "/locks", directory + "/leases",
                                 directory + "-permits/locks", directory + "-permits/leases"}) {
            for (const auto& name : queue_of(path)) {
                if (name != "locks" && name != "leases") {
                    admin.remove_if_there(path + '/' + name);
                }
            }
            if (const auto node = admin.exists(path); node && node->ephemeral_owner != 0) {
                admin.remove_if_there(path);
            }
        }
    }
    void check_free()
    {
        BOOST_TEST(until([&] { return nodes() == 0U; }), "a node is left");
        BOOST_TEST(until([&] { return server.watch_count() == 0; }), "a watch is left");
        for (const auto& c : clients) {
            BOOST_TEST(until([&] { return c.stats().contenders == 0; }));
        }
        BOOST_TEST(bool(value_of(io, start_try(Kind{connect(), directory}))));
    }
    void end_session(client& c)
    {
        BOOST_TEST(!kill_session(server.connect_string(), c.session_id(), password_of(c)));
    }
};

} // namespace colock::test

#endif
