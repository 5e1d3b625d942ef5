#include "workloads.hpp"

#include <utility>

namespace world::workload {

using namespace std::chrono_literals;

namespace {

// What a program has seen, and waits to change; forgotten with the coroutine.
class awaited {
public:
    awaited(customer& by, const std::string& path, check::watches::kind of,
            std::optional<colock::node_stat> seen)
        : all_{by.all.watches}, number_{all_.begun({by.who, by.life, path, of, std::move(seen)})}
    {
    }
    awaited(const awaited&) = delete;
    awaited& operator=(const awaited&) = delete;
    ~awaited() { all_.over(number_); }

    void fired() { all_.fired(number_); }

private:
    check::watches& all_;
    const std::uint64_t number_;
};

asio::awaitable<void> wait(customer::ptr me, std::string path, check::watches::kind of,
                           std::optional<colock::node_stat> seen, colock::watch changes,
                           random& chance)
{
    awaited mine{*me, path, of, std::move(seen)};
    canceller enough{*me, chance};
    enough.after(chance.between(0ms, 40s), asio::cancellation_type::terminal);
    auto [ec, event] = co_await changes.async_wait(me->tuple("async_wait", enough.slot()));
    if (ec) {
        me->ended("async_wait", ec);
    } else {
        mine.fired();
    }
}

} // namespace

asio::awaitable<void> watcher(customer::ptr me, random chance)
{
    using kind = check::watches::kind;
    while (!me->is_over()) {
        co_await me->pause(0ns, 500ms);
        if (me->is_over()) {
            break;
        }
        const auto& whole = chance.pick(me->all.changing);
        const auto path = me->path(whole);
        switch (chance.below(3)) {
        case 0: {
            auto [ec, seen] = co_await me->zk->async_watch(path, me->tuple("async_watch"));
            if (!ec) {
                co_await wait(me, whole, kind::data, seen.value.stat, std::move(seen.changes),
                              chance);
            }
            break;
        }
        case 1: {
            auto [ec, seen] =
                co_await me->zk->async_watch_exists(path, me->tuple("async_watch_exists"));
            if (!ec) {
                co_await wait(me, whole, kind::existence, seen.value, std::move(seen.changes),
                              chance);
            }
            break;
        }
        default: {
            auto [ec, seen] =
                co_await me->zk->async_watch_children(path, me->tuple("async_watch_children"));
            if (!ec) {
                co_await wait(me, whole, kind::children, seen.value.stat, std::move(seen.changes),
                              chance);
            }
            break;
        }
        }
    }
}

} // namespace world::workload
