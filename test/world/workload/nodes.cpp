#include "workloads.hpp"

namespace world::workload {

using namespace std::chrono_literals;

// A counter that only this coroutine writes, in a node of its own: what it reads is never older than what it has
// written.
asio::awaitable<void> nodes(customer::ptr me, random chance)
{
    const auto name = "/own-" + me->all.journal.name_of(me->who) + "-" +
                      std::to_string(chance.below(1'000'000'000));
    const auto path = me->path(me->all.chroot + name);
    {
        if (!me->zk) {
            co_return;
        }
        auto [ec, made] = co_await me->zk->async_create(path, "0", colock::create_mode::persistent,
                                                        me->tuple("async_create"));
        if (ec && ec != colock::zookeeper_errc::node_exists && !colock::outcome_unknown(ec)) {
            me->ended("async_create", ec);
            co_return;
        }
    }
    int confirmed = 0; // at least that is there
    int tried = 0;     // and at most that
    while (!me->is_over()) {
        co_await me->pause(0ns, 500ms);
        if (me->is_over()) {
            break;
        }
        if (chance.per_mille(500)) {
            ++tried;
            auto [ec, stat] = co_await me->zk->async_set(
                path, std::to_string(tried), colock::any_version, me->tuple("async_set"));
            if (!ec) {
                confirmed = tried;
            } else {
                me->ended("async_set", ec);
            }
        } else {
            canceller stop{*me, chance};
            stop.perhaps(200);
            auto [ec, seen] =
                co_await me->zk->async_watch(path, me->tuple("async_watch", stop.slot()));
            if (ec) {
                me->ended("async_watch", ec);
                if (ec == colock::zookeeper_errc::connection_loss) {
                    me->all.found.add("own reads", me->all.journal.name_of(me->who) +
                                                       " hears of a lost connection, though a "
                                                       "read is repeated");
                }
                co_await me->pause(1ms, 20ms);
                continue;
            }
            const int value = std::stoi(seen.value.data);
            if (value < confirmed || value > tried) {
                me->all.found.add("own reads", me->all.journal.name_of(me->who) + " reads " +
                                                   seen.value.data + " behind " +
                                                   std::to_string(confirmed));
            }
            if (seen.value.stat.version > tried) {
                me->all.found.add("own writes", me->all.journal.name_of(me->who) + " has written " +
                                                    std::to_string(tried) +
                                                    " times at most, and is at version " +
                                                    std::to_string(seen.value.stat.version));
            }
            if (chance.per_mille(300)) {
                canceller enough{*me, chance};
                enough.after(chance.between(0ms, 1s), asio::cancellation_type::terminal);
                auto [over, event] =
                    co_await seen.changes.async_wait(me->tuple("async_wait", enough.slot()));
                if (over) {
                    me->ended("async_wait", over);
                }
            }
        }
    }
}

} // namespace world::workload
