#include "workloads.hpp"

namespace world::workload {

using namespace std::chrono_literals;

namespace {

asio::awaitable<void> look(customer::ptr me, std::size_t place, random& chance)
{
    const auto path = me->path(me->at(place).path);
    const auto& options = me->options(place);
    auto [ec, view] = co_await colock::async_view_queue(*me->zk, path, *options.layout,
                                                        me->tuple("async_view_queue"));
    if (ec) {
        me->ended("async_view_queue", ec);
        co_return;
    }
    if (view.entries.empty() || me->is_over()) {
        co_return;
    }
    const auto node = view.entries[chance.below(view.entries.size())].path;
    canceller stop{*me, chance};
    stop.after(chance.between(1ms, 2s), asio::cancellation_type::terminal);
    if (chance.per_mille(300)) {
        auto [refused] =
            co_await colock::async_revoke(*me->zk, node, me->tuple("async_revoke", stop.slot()));
        if (refused) {
            me->ended("async_revoke", refused);
        }
    } else {
        auto [gone, position] = co_await colock::async_wait_position(
            *me->zk, node, *options.layout, std::optional<std::size_t>{chance.below(3)},
            me->tuple("async_wait_position", stop.slot()));
        if (gone) {
            me->ended("async_wait_position", gone);
        }
    }
}

asio::awaitable<void> ask(customer::ptr me, std::size_t place)
{
    auto [ec, asked] = co_await colock::async_revoke_holders(*me->zk, me->path(me->at(place).path),
                                                             *me->options(place).layout,
                                                             me->tuple("async_revoke_holders"));
    if (ec) {
        me->ended("async_revoke_holders", ec);
    }
}

} // namespace

asio::awaitable<void> onlooker(customer::ptr me, std::size_t place, random chance)
{
    const auto kind = me->at(place).kind;
    if (kind == lock_kind::single_node_mutex || kind == lock_kind::semaphore) {
        co_return;
    }
    while (!me->is_over()) {
        co_await me->pause(100ms, 2s);
        if (me->is_over()) {
            break;
        }
        if (chance.per_mille(700)) {
            co_await look(me, place, chance);
        } else {
            co_await ask(me, place);
        }
    }
}

} // namespace world::workload
