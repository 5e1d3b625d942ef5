#include "../check/counter.hpp"
#include "taking.hpp"
#include "workloads.hpp"

#include <string>

namespace world::workload {

using namespace std::chrono_literals;

namespace {

// Of one who has a place of its own: when its session expires while it waits.
bool may_join_again(const customer& me, std::size_t place)
{
    const auto kind = me.at(place).kind;
    const auto& options = me.options(place);
    const bool queue = kind == lock_kind::mutex || kind == lock_kind::recursive_mutex ||
                       kind == lock_kind::shared_mutex;
    return !queue || options.max_local_grants > 0 || options.rejoin_on_expiry;
}

} // namespace

asio::awaitable<void> turns(customer::ptr me, std::size_t place, random chance)
{
    if (!me->zk) {
        co_return;
    }
    auto lock = make_lock(*me, place);
    const auto longest_pause = std::chrono::milliseconds{1 << chance.below(11)};
    while (!me->is_over()) {
        co_await me->pause(0ns, longest_pause);
        if (me->is_over()) {
            break;
        }
        if (chance.per_mille(50)) {
            lock = make_lock(*me, place); // the other one has gone
        }
        if (const auto& p = me->at(place); !p.counter.empty() && chance.per_mille(30)) {
            const auto number = chance.between(0, p.permits);
            auto [ec, stat] =
                co_await me->zk->async_set(me->path(p.counter), check::bytes_of(number),
                                           colock::any_version, me->tuple("async_set"));
            if (ec) {
                me->ended("async_set", ec);
            }
            if (me->is_over()) {
                break;
            }
        }
        canceller stop{*me, chance};
        stop.perhaps(250);
        const auto how = draw_wish(*me, place, chance);
        me->all.journal.note(check::deed::waiting, me->who, static_cast<std::int64_t>(place));
        const bool connected = me->zk->state() == colock::connection_state::connected;
        const auto session = me->zk->session_id();
        const auto since = me->all.time.now();
        taken t = co_await take(me, lock, how, stop.slot());
        stop.completed("an acquisition");
        // What a client without a connection remembers is no answer to a try.
        if (!connected && how.how == wish::way::at_once && !t.error && !holds_something(t.guard) &&
            me->zk && me->zk->state() != colock::connection_state::connected) {
            me->all.found.add("try", me->all.journal.name_of(me->who) + " is told that " +
                                         me->at(place).path + " is busy, and has no connection");
        }
        // A waiter without a node has lost no place: it has none yet, or has given it up so that the directory can end.
        const auto lost = me->all.queues.last_lost(me->at(place).queue, session, how.shared);
        if (connected && lost && *lost > since && !t.error && holds_something(t.guard) && me->zk &&
            me->zk->session_id() != session && !may_join_again(*me, place)) {
            me->all.found.add("rejoin", me->all.journal.name_of(me->who) + " waited for " +
                                            me->at(place).path + " in session " +
                                            std::to_string(session) +
                                            ", and is granted it in another one");
        }
        if (t.error) {
            me->ended("turns", t.error);
            co_await me->pause(1ms, 20ms);
        } else if (holds_something(t.guard)) {
            held h{me, {place}, std::move(t.guard)};
            co_await h.use(chance);
            co_await h.release(chance);
        }
    }
}

} // namespace world::workload
