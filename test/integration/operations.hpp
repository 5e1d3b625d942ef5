// All asynchronous operations of the library, as a table.
#pragma once

#include <support/lock_scene.hpp>

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>
#include <utility>

namespace colock::test {

struct operations_scene : lock_scene {
    operations_scene() { admin.create(directory + "-node"); }

    const std::string node = directory + "-node";
    client& zk = connect();
    mutex lock{zk, directory, with_nodes()};
    multi_lock both{lock, mutex{zk, directory + "-other", with_nodes()}};

    multi_guard hold_both()
    {
        outcome<multi_guard> result;
        both.async_lock(result.handler());
        return value_of(io, result);
    }
};

// Runs `visit(name, start)` for each operation in turn, where `start(token)` initiates it, and is to be called
// once. Everything goes well, and soon.
template <class Visit>
void for_each_operation(operations_scene& s, Visit visit)
{
#define COLOCK_OPERATION(name, call)                                                               \
    BOOST_TEST_CONTEXT(name)                                                                       \
    {                                                                                              \
        visit([&](auto&& token) { return call; });                                                 \
    }
#define COLOCK_TOKEN std::forward<decltype(token)>(token)

    client idle{s.io, {.hosts = s.server.connect_string()}};
    outcome<watched<get_result>> set;
    s.zk.async_watch(s.node, set.handler());
    auto watching = value_of(s.io, set);
    s.admin.set(s.node, "an event");
    auto lost = s.hold(s.zk);
    outcome<error_code> loss;
    lost.async_wait_lost(loss.handler());
    s.admin.remove(lost.node());
    value_of(s.io, loss);

    COLOCK_OPERATION("connect", idle.async_connect(COLOCK_TOKEN))
    COLOCK_OPERATION("wait_state_change",
                     s.zk.async_wait_state_change(connection_state::idle, COLOCK_TOKEN))
    COLOCK_OPERATION("create",
                     s.zk.async_create(s.node + "/a", "", create_mode::ephemeral, COLOCK_TOKEN))
    COLOCK_OPERATION("create with options",
                     s.zk.async_create(s.node + "/b", "", create_options{}, COLOCK_TOKEN))
    COLOCK_OPERATION("get", s.zk.async_get(s.node, COLOCK_TOKEN))
    COLOCK_OPERATION("set", s.zk.async_set(s.node, "", any_version, COLOCK_TOKEN))
    COLOCK_OPERATION("exists", s.zk.async_exists(s.node, COLOCK_TOKEN))
    COLOCK_OPERATION("children", s.zk.async_children(s.node, COLOCK_TOKEN))
    COLOCK_OPERATION("multi", s.zk.async_multi({check_op(s.node)}, COLOCK_TOKEN))
    COLOCK_OPERATION("sync", s.zk.async_sync(s.node, COLOCK_TOKEN))
    COLOCK_OPERATION("get_acl", s.zk.async_get_acl(s.node, COLOCK_TOKEN))
    COLOCK_OPERATION("set_acl", s.zk.async_set_acl(s.node, open_acl(), COLOCK_TOKEN))
    COLOCK_OPERATION("add_credentials",
                     s.zk.async_add_credentials("digest", "me:secret", COLOCK_TOKEN))
    COLOCK_OPERATION("set_hosts", s.zk.async_set_hosts(link_hosts(s.server), COLOCK_TOKEN))
    COLOCK_OPERATION("ensure_lock_root", async_ensure_lock_root(s.zk, s.directory + "-root",
                                                                creator_acl(), COLOCK_TOKEN))
    COLOCK_OPERATION("watch", s.zk.async_watch(s.node, COLOCK_TOKEN))
    COLOCK_OPERATION("watch_exists", s.zk.async_watch_exists(s.node, COLOCK_TOKEN))
    COLOCK_OPERATION("watch_children", s.zk.async_watch_children(s.node, COLOCK_TOKEN))
    COLOCK_OPERATION("watch::wait", watching.changes.async_wait(COLOCK_TOKEN))
    COLOCK_OPERATION("remove a", s.zk.async_remove(s.node + "/a", any_version, COLOCK_TOKEN))
    COLOCK_OPERATION("remove b", s.zk.async_remove(s.node + "/b", any_version, COLOCK_TOKEN))
    COLOCK_OPERATION("close", idle.async_close(COLOCK_TOKEN))

    COLOCK_OPERATION("lock", s.lock.async_lock(COLOCK_TOKEN))
    s.check_nothing_left(); // whoever got it has dropped it
    COLOCK_OPERATION("try_lock", s.lock.async_try_lock(COLOCK_TOKEN))
    s.check_nothing_left();
    COLOCK_OPERATION("try_lock_for", s.lock.async_try_lock_for(1min, COLOCK_TOKEN))
    s.check_nothing_left();
    COLOCK_OPERATION("try_lock_until", s.lock.async_try_lock_until(
                                           std::chrono::steady_clock::now() + 1min, COLOCK_TOKEN))
    s.check_nothing_left();
    const auto nothing = [](const unique_lock&) -> boost::asio::awaitable<void> { co_return; };
    COLOCK_OPERATION("with_lock", s.lock.async_with_lock(nothing, COLOCK_TOKEN))
    s.check_nothing_left();
    COLOCK_OPERATION("wait_lost", lost.async_wait_lost(COLOCK_TOKEN))
    auto held = s.hold(s.zk);
    COLOCK_OPERATION("unlock", held.async_unlock(COLOCK_TOKEN))
    s.check_nothing_left();

    COLOCK_OPERATION("lock both", s.both.async_lock(COLOCK_TOKEN))
    s.check_nothing_left();
    COLOCK_OPERATION("try_lock both", s.both.async_try_lock(COLOCK_TOKEN))
    s.check_nothing_left();
    COLOCK_OPERATION("try_lock_for both", s.both.async_try_lock_for(1min, COLOCK_TOKEN))
    s.check_nothing_left();
    COLOCK_OPERATION(
        "try_lock_until both",
        s.both.async_try_lock_until(std::chrono::steady_clock::now() + 1min, COLOCK_TOKEN))
    s.check_nothing_left();
    auto lost_both = s.hold_both();
    s.admin.remove(lost_both[1].node());
    COLOCK_OPERATION("wait_lost both", lost_both.async_wait_lost(COLOCK_TOKEN))
    lost_both = {};
    s.check_nothing_left();
    auto held_both = s.hold_both();
    COLOCK_OPERATION("unlock both", held_both.async_unlock(COLOCK_TOKEN))
    s.check_nothing_left();
#undef COLOCK_TOKEN
#undef COLOCK_OPERATION
}

} // namespace colock::test
