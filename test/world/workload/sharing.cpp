#include "held.hpp"
#include "workloads.hpp"

#include <boost/system/system_error.hpp>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace world::workload {

using namespace std::chrono_literals;

namespace {

struct gives_up : std::runtime_error {
    gives_up() : std::runtime_error{"the body gives up"} {}
};

// One async_run, for those who end it.
struct term {
    check::shards::number number = 0;
    asio::cancellation_signal stop;
    bool over = false;
};

// A shard that is owned, and known to the checks for as long.
class owning {
public:
    owning(customer& by, check::shards::number run, const colock::owned_shard& mine)
        : all_{by.all.shards}, held_{by, by.all.shared->locks[mine.index()],
                                     by.all.shared->safety_margin, mine.lock()}
    {
        check::shards::body b;
        b.of = run;
        b.shard = mine.index();
        b.session = by.zk ? by.zk->session_id() : 0;
        b.node = by.whole(mine.lock().node());
        b.is_lost = [&guard = mine.lock(), &home = by.home] {
            const auto why = home.look([&] { return guard.loss_reason(); });
            return why && why != colock::errc::not_held;
        };
        number_ = all_.began(std::move(b));
        if (by.chance.per_mille(500)) {
            held_.watch(by, mine.lock());
        }
    }
    owning(const owning&) = delete;
    owning& operator=(const owning&) = delete;
    ~owning() { all_.ended(number_); }

    [[nodiscard]] check::holds::number hold() const noexcept { return held_.number(); }

private:
    check::shards& all_;
    ticket held_;
    check::shards::number number_ = 0;
};

// False when it was cancelled.
asio::awaitable<bool> wait(process& home, std::chrono::nanoseconds time)
{
    asio::steady_timer timer{home.context(), time};
    try {
        co_await timer.async_wait(asio::use_awaitable);
    } catch (const boost::system::system_error&) {
        co_return false;
    }
    co_return true;
}

// Everything that it needs is its own: it may be destroyed behind its caller.
asio::awaitable<void> own(customer::ptr me, check::shards::number run,
                          const colock::owned_shard& mine, random chance)
{
    const owning its{*me, run, mine};
    const auto& guard = mine.lock();
    const auto& machine = me->home.on();
    instant lost_at = instant::max();
    std::uint64_t stops = 0;
    while (co_await wait(me->home, chance.between(20ms, 500ms))) {
        me->all.holds.write(its.hold());
        if (guard.loss_reason() && lost_at == instant::max()) {
            lost_at = me->all.time.now();
            stops = machine.stops();
        } else if (guard.loss_reason() && me->all.time.now() - lost_at > 1ms &&
                   stops == machine.stops()) {
            me->all.found.add("G5 body", "a body of " + me->all.journal.name_of(me->who) +
                                             " goes on, though its shard was lost at " +
                                             check::text_of(lost_at));
        }
        if (me->all.shared->bodies_end && !me->all.calm && chance.per_mille(30)) {
            if (chance.per_mille(500)) {
                throw gives_up{};
            }
            co_return;
        }
    }
    // It has been told to end, and tidies up: the lock is still held, unless it is lost.
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    const auto until =
        me->all.time.now() + (chance.per_mille(500) ? chance.between(0ns, 200ms) : 0ns);
    while (me->all.time.now() < until && !guard.loss_reason()) {
        co_await wait(me->home, 5ms);
        me->all.holds.write(its.hold());
    }
}

asio::awaitable<void> get_ready(customer::ptr me, std::chrono::nanoseconds time, bool stubborn)
{
    co_await asio::this_coro::throw_if_cancelled(!stubborn);
    const bool cancelled = !co_await wait(me->home, time);
    if (cancelled && stubborn) {
        co_await wait(me->home, time);
    }
    co_await asio::this_coro::throw_if_cancelled(true);
}

colock::shards_options draw_options(customer& me, const std::string& name, random& chance)
{
    const auto& s = *me.all.shared;
    colock::shards_options o;
    o.count = s.locks.size();
    o.member = name;
    o.weight = chance.per_mille(700) ? 1U : static_cast<std::uint32_t>(chance.between(1, 3));
    o.settle = s.settle;
    o.moves_at_a_time = s.moves_at_a_time;
    o.prepare_limit = s.prepare_limit;
    o.take_limit = s.take_limit;
    o.safety_margin = s.safety_margin;
    if (chance.per_mille(500)) {
        o.prepare = [me = me.shared_from_this(), own = chance.branch(),
                     most = s.prepare_limit](const colock::shard_id&) mutable {
            const bool late = own.per_mille(100);
            const bool stubborn = own.per_mille(100);
            const std::chrono::nanoseconds needs = !late      ? own.between(0ns, most)
                                                   : stubborn ? 2 * most
                                                              : 1h;
            return get_ready(me, needs, stubborn);
        };
    }
    constexpr colock::body_end ends[] = {colock::body_end::fail, colock::body_end::restart,
                                         colock::body_end::release};
    o.when_body_ends = ends[chance.below(3)];
    return o;
}

// Ends the run in one of the ways, after a time.
asio::awaitable<void> end_run(customer::ptr me, colock::shards all, std::shared_ptr<term> t,
                              random chance)
{
    const auto until =
        chance.per_mille(300) ? me->all.time.now() + chance.between(1s, 20s) : instant::max();
    while (!t->over && !me->is_over() && me->all.time.now() < until) {
        co_await me->pause(100ms, 500ms);
    }
    if (t->over) {
        co_return;
    }
    me->all.shards.leaves(t->number);
    if (!me->zk || chance.per_mille(400)) {
        t->stop.emit(asio::cancellation_type::terminal);
        co_return;
    }
    const auto limit = chance.between(0ns, 2s);
    const auto since = me->all.time.now();
    const bool calm = me->all.calm;
    const auto [ec] = co_await all.async_leave(limit, me->tuple("async_leave"));
    if (ec) {
        me->ended("async_leave", ec);
    }
    if (calm && me->all.time.now() - since > limit + 2s) {
        me->all.found.add("shards leave", me->all.journal.name_of(me->who) +
                                              " leaves with a limit of " + check::text_of(limit) +
                                              " s, and needs " +
                                              check::text_of(me->all.time.now() - since));
    }
}

bool is_aborted(const std::exception_ptr& e)
{
    try {
        std::rethrow_exception(e);
    } catch (const boost::system::system_error& failure) {
        return failure.code() == asio::error::operation_aborted;
    } catch (...) {
        return false;
    }
}

void judge(customer& me, const std::exception_ptr& e)
{
    try {
        std::rethrow_exception(e);
    } catch (const boost::system::system_error& failure) {
        me.ended("async_run", failure.code());
    } catch (const gives_up&) {
        me.remark("a body gave up");
    }
}

} // namespace

asio::awaitable<void> sharer(customer::ptr me, random chance)
{
    if (!me->zk) {
        co_return;
    }
    while (!me->is_over()) {
        co_await me->pause(0ns, 500ms);
        if (me->is_over()) {
            break;
        }
        const auto name = me->all.journal.name_of(me->who);
        const auto o = draw_options(*me, name, chance);
        colock::shards all{*me->zk, me->path(me->all.shared->path), o};
        const auto t = std::make_shared<term>();
        t->number = me->all.shards.runs({name, o.weight, me->who, me->life});
        me->engage(end_run(me, all, t, chance.branch()));
        std::exception_ptr failure;
        try {
            auto body = [&](const colock::owned_shard& mine) {
                return own(me, t->number, mine, chance.branch());
            };
            co_await all.async_run(
                body, me->counted("async_run", asio::bind_cancellation_slot(t->stop.slot(),
                                                                            asio::use_awaitable)));
        } catch (...) {
            failure = std::current_exception();
        }
        t->over = true;
        if (!failure || (is_aborted(failure) && me->zk && !me->is_over())) {
            me->all.shards.ended_alone(t->number);
        }
        me->all.shards.over(t->number);
        if (failure) {
            judge(*me, failure);
        }
    }
}

asio::awaitable<void> stranger(customer::ptr me, random chance)
{
    const auto number = chance.below(me->all.shared->locks.size());
    const auto path = me->path(me->all.shared->path) + "/locks/" + std::to_string(number);
    while (!me->is_over()) {
        co_await me->pause(100ms, 3s);
        if (me->is_over()) {
            break;
        }
        colock::mutex lock{*me->zk, path};
        auto [ec, guard] = co_await lock.async_try_lock_for(2s, me->tuple("async_try_lock_for"));
        if (ec) {
            me->ended("async_try_lock_for", ec);
        } else if (guard) {
            const ticket held{*me, me->all.shared->locks[number], 0ms, guard};
            co_await me->pause(0ns, me->all.calm ? 100ms : 1s);
        }
    }
}

asio::awaitable<void> looks_at_shards(customer::ptr me)
{
    if (!me->zk) {
        co_return;
    }
    colock::shards_options o;
    o.count = me->all.shared->locks.size();
    const colock::shards all{*me->zk, me->path(me->all.shared->path), o};
    while (!me->is_over()) {
        co_await me->pause(500ms, 3s);
        if (me->is_over()) {
            break;
        }
        const auto changes = me->all.shards.changes();
        auto [ec, owners] = co_await all.async_owners(me->tuple("async_owners"));
        if (ec) {
            me->ended("async_owners", ec);
        } else if (changes == me->all.shards.changes()) {
            std::vector<check::shards::owner> seen;
            for (const auto& each : owners) {
                seen.emplace_back(each.owner, each.assigned);
            }
            me->all.shards.seen(me->who, seen);
        }
    }
}

} // namespace world::workload
