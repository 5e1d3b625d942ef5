// The asynchronous operations of the locks beside the mutex, of elections and of views, as a table like that of
// operations.hpp.
#pragma once

#include <colock/election.hpp>
#include <colock/queue_view.hpp>
#include <colock/recursive_mutex.hpp>
#include <colock/semaphore.hpp>
#include <colock/shared_mutex.hpp>
#include <colock/single_node_mutex.hpp>
#include <support/lock_scene.hpp>

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>
#include <utility>

namespace colock::test {

struct operations_scene : lock_scene {
    client& zk = connect();
    mutex lock{zk, directory, with_nodes()};
    shared_mutex rw{zk, directory + "-rw"};
    semaphore pool{zk, directory + "-pool", 2};
    single_node_mutex single{zk, directory + "-single"};
    recursive_mutex nested{zk, directory + "-nested"};
    lock_owner owner;
    election race{zk, directory + "-race", "this candidate"};

    template <class Guard, class Initiate>
    Guard get(Initiate initiate)
    {
        outcome<Guard> result;
        initiate(result.handler());
        return value_of(io, result);
    }
};

// As in operations.hpp.
template <class Visit>
void for_each_operation(operations_scene& s, Visit visit)
{
#define COLOCK_OPERATION(name, call)                                                               \
    BOOST_TEST_CONTEXT(name)                                                                       \
    {                                                                                              \
        visit([&](auto&& token) { return call; });                                                 \
        BOOST_TEST(s.until([&] { return s.zk.stats().contenders == held; }));                      \
    }
#define COLOCK_TOKEN std::forward<decltype(token)>(token)

    std::size_t held = 0; // contenders that the scene keeps
    const auto nothing = [](const auto&) -> boost::asio::awaitable<void> { co_return; };

    COLOCK_OPERATION("lock_shared", s.rw.async_lock_shared(COLOCK_TOKEN))
    COLOCK_OPERATION("with_lock_shared", s.rw.async_with_lock_shared(nothing, COLOCK_TOKEN))
    auto writer = s.get<unique_lock>([&](auto h) { s.rw.async_lock(std::move(h)); });
    COLOCK_OPERATION("downgrade", s.rw.async_downgrade(std::move(writer), COLOCK_TOKEN))

    COLOCK_OPERATION("acquire", s.pool.async_acquire(COLOCK_TOKEN))
    COLOCK_OPERATION("try_acquire_for", s.pool.async_try_acquire_for(1min, COLOCK_TOKEN))
    COLOCK_OPERATION("with_permits", s.pool.async_with_permits(1, nothing, COLOCK_TOKEN))
    auto one = s.get<permit>([&](auto h) { s.pool.async_acquire(std::move(h)); });
    COLOCK_OPERATION("release", one.async_release(COLOCK_TOKEN))

    COLOCK_OPERATION("lock of one node", s.single.async_lock(COLOCK_TOKEN))
    COLOCK_OPERATION("lock again and again", s.nested.async_lock(s.owner, COLOCK_TOKEN))

    COLOCK_OPERATION("lead", s.race.async_lead(nothing, COLOCK_TOKEN))
    COLOCK_OPERATION("campaign", s.race.async_campaign(COLOCK_TOKEN))
    auto leader = s.get<leadership>([&](auto h) { s.race.async_campaign(std::move(h)); });
    held = 1;
    COLOCK_OPERATION("proclaim", leader.async_proclaim("another name", COLOCK_TOKEN))
    COLOCK_OPERATION("leader", s.race.async_leader(COLOCK_TOKEN))
    COLOCK_OPERATION("participants", s.race.async_participants(COLOCK_TOKEN))
    COLOCK_OPERATION("wait_change", s.race.async_wait_change("this candidate", COLOCK_TOKEN))
    held = 0;
    COLOCK_OPERATION("resign", leader.async_resign(COLOCK_TOKEN))

    auto mine = s.hold(s.zk);
    held = 1;
    COLOCK_OPERATION("view_queue", async_view_queue(s.lock, COLOCK_TOKEN))
    COLOCK_OPERATION("wait_position",
                     async_wait_position(s.lock, mine.node(), std::nullopt, COLOCK_TOKEN))
    COLOCK_OPERATION("revoke_holders", async_revoke_holders(s.lock, COLOCK_TOKEN))
    COLOCK_OPERATION("wait_revoked", mine.async_wait_revoked(COLOCK_TOKEN))
    COLOCK_OPERATION("revoke", async_revoke(s.zk, mine.node(), COLOCK_TOKEN))
#undef COLOCK_TOKEN
#undef COLOCK_OPERATION
}

} // namespace colock::test
