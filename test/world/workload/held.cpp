#include "held.hpp"

#include <boost/asio/detached.hpp>

#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

namespace world::workload {

using namespace std::chrono_literals;

namespace {

template <class Guard>
constexpr bool is_empty = std::is_same_v<Guard, std::monostate>;

} // namespace

bool holds_something(const any_guard& guard)
{
    return std::visit(
        []<class Guard>(const Guard& g) {
            if constexpr (is_empty<Guard>) {
                return false;
            } else if constexpr (std::is_same_v<Guard, colock::permit>) {
                return g.count() > 0;
            } else if constexpr (std::is_same_v<Guard, colock::multi_guard>) {
                return g.size() > 0;
            } else {
                return g.state() != colock::lock_state::not_held;
            }
        },
        guard);
}

// ---- ticket

ticket::ticket(customer& by, std::size_t place, check::mode how, const colock::held_lock& guard)
    : all_{&by.all.holds}
{
    check::holds::grant g;
    g.place = by.at(place).queue;
    g.how = how;
    g.lead = by.options(place).safety_margin;
    g.local_grants = by.options(place).max_local_grants;
    g.local_time = by.options(place).max_local_time;
    granted(by, std::move(g), guard);
}

ticket::ticket(customer& by, std::size_t queue, std::chrono::milliseconds margin,
               const colock::unique_lock& guard)
    : all_{&by.all.holds}
{
    const colock::lock_options usual;
    check::holds::grant g;
    g.place = queue;
    g.lead = margin;
    g.local_grants = usual.max_local_grants;
    g.local_time = std::chrono::duration_cast<std::chrono::milliseconds>(usual.max_local_time);
    granted(by, std::move(g), guard);
}

void ticket::granted(customer& by, check::holds::grant g, const colock::held_lock& guard)
{
    g.who = by.who;
    g.owner = by.life;
    g.where = &by.home.on();
    g.session = by.zk ? by.zk->session_id() : 0;
    g.nodes = {by.whole(guard.node())};
    g.token = guard.token();
    const auto queue = g.place;
    g.remaining = [&guard, &home = by.home] {
        return home.look([&] { return guard ? guard.remaining() : 0ns; });
    };
    g.timeout = [&by] { return by.zk ? by.zk->session_timeout() : 0ms; };
    g.stops = g.where->stops();
    number_ = all_->granted(std::move(g));
    if (const auto why = guard.loss_reason()) {
        by.all.found.add("G5 lost already", by.all.journal.name_of(by.who) + " is granted " +
                                                by.all.queues.of(queue).path +
                                                ", which is lost: " + why.message());
    }
}

ticket::ticket(customer& by, std::size_t place, const colock::permit& guard) : all_{&by.all.holds}
{
    check::holds::grant g;
    g.place = by.at(place).queue;
    g.how = check::mode::permits;
    g.who = by.who;
    g.owner = by.life;
    g.where = &by.home.on();
    g.session = by.zk ? by.zk->session_id() : 0;
    for (const auto& node : guard.nodes()) {
        g.nodes.push_back(by.whole(node));
    }
    g.lead = by.options(place).safety_margin;
    g.remaining = [&guard, &home = by.home] {
        return home.look([&] { return guard ? guard.remaining() : 0ns; });
    };
    g.timeout = [&by] { return by.zk ? by.zk->session_timeout() : 0ms; };
    g.stops = g.where->stops();
    number_ = all_->granted(std::move(g));
}

ticket::ticket(ticket&& other) noexcept
    : all_{std::exchange(other.all_, nullptr)}, number_{other.number_}
{
}

ticket& ticket::operator=(ticket&& other) noexcept
{
    std::swap(all_, other.all_);
    std::swap(number_, other.number_);
    return *this;
}

void ticket::close()
{
    if (all_ != nullptr) {
        std::exchange(all_, nullptr)->let_go(number_);
    }
}

template <class Guard>
void ticket::watch_any(customer& by, const Guard& guard)
{
    all_->watched(number_);
    guard.async_wait_lost(
        by.counted("async_wait_lost",
                   [all = all_, n = number_](colock::error_code ec, colock::error_code why) {
                       if (!ec) {
                           all->told(n, why);
                       }
                   }));
}

void ticket::watch(customer& by, const colock::held_lock& guard)
{
    watch_any(by, guard);
}

void ticket::watch(customer& by, const colock::permit& guard)
{
    watch_any(by, guard);
}

// ---- held

held::held(customer::ptr by, std::vector<std::size_t> places, any_guard guard)
    : inner_{std::make_unique<inner>(inner{std::move(by), std::move(places), std::move(guard), {}})}
{
    auto& me = *inner_->by;
    auto& tickets = inner_->tickets;
    const auto place = inner_->places.front();
    // Of some nobody waits for the loss: those are only looked at.
    const bool watched = me.chance.per_mille(700);
    const auto* const several = std::get_if<colock::multi_guard>(&inner_->guard);
    const bool together =
        several != nullptr && (me.chance.per_mille(500) || me.all.rare == rarity::together);
    const auto add = [&](const auto& g, ticket t) {
        if (watched && !together) {
            t.watch(me, g);
        }
        tickets.push_back(std::move(t));
    };
    if (const auto* const u = std::get_if<colock::unique_lock>(&inner_->guard)) {
        add(*u, ticket{me, place, check::mode::exclusive, *u});
    } else if (const auto* const s = std::get_if<colock::shared_lock>(&inner_->guard)) {
        add(*s, ticket{me, place, check::mode::shared, *s});
    } else if (const auto* const p = std::get_if<colock::permit>(&inner_->guard)) {
        add(*p, ticket{me, place, *p});
    } else if (const auto* const m = std::get_if<colock::multi_guard>(&inner_->guard)) {
        for (std::size_t i = 0; i < m->size(); ++i) {
            const auto at = inner_->places[i];
            if (me.at(at).kind == lock_kind::semaphore) {
                add(m->permits(i), ticket{me, at, m->permits(i)});
            } else {
                add((*m)[i], ticket{me, at, check::mode::exclusive, (*m)[i]});
            }
        }
        if (watched && together) {
            watch_together(*m);
        }
    }
}

// The first loss is that of all.
void held::watch_together(const colock::multi_guard& guard)
{
    auto& me = *inner_->by;
    std::vector<check::holds::number> numbers;
    for (const auto& t : inner_->tickets) {
        me.all.holds.watched(t.number());
        numbers.push_back(t.number());
    }
    guard.async_wait_lost(
        me.counted("multi async_wait_lost",
                   [&holds = me.all.holds, numbers](colock::error_code ec, colock::error_code why) {
                       for (const auto n : numbers) {
                           if (!ec) {
                               holds.told(n, why);
                           }
                       }
                   }));
}

held::operator bool() const
{
    return inner_ && std::visit(
                         []<class Guard>(const Guard& g) {
                             if constexpr (is_empty<Guard>) {
                                 return false;
                             } else {
                                 return static_cast<bool>(g);
                             }
                         },
                         inner_->guard);
}

colock::error_code held::lost() const
{
    return std::visit(
        []<class Guard>(const Guard& g) -> colock::error_code {
            if constexpr (is_empty<Guard>) {
                return colock::errc::not_held;
            } else {
                return g.loss_reason();
            }
        },
        inner_->guard);
}

void held::write()
{
    for (const auto& t : inner_->tickets) {
        by().all.holds.write(t.number());
    }
}

asio::awaitable<void> held::write_guarded()
{
    auto& me = by();
    const auto* const u = std::get_if<colock::unique_lock>(&inner_->guard);
    const auto& where = me.at(inner_->places.front());
    if (u == nullptr || !me.zk || where.written.empty()) {
        co_return;
    }
    const auto text = to_string(u->token());
    auto steps = u->guarded(colock::transaction{}.set(me.path(where.written), text));
    const auto by = inner_->by;
    auto [ec, results] = co_await by->zk->async_multi(std::move(steps), by->tuple("async_multi"));
    if (ec) {
        by->ended("async_multi", ec);
    }
}

// For a request to let go. Whether it comes is what counts.
std::shared_ptr<bool> held::listen()
{
    auto revoked = std::make_shared<bool>(false);
    const auto* const u = std::get_if<colock::unique_lock>(&inner_->guard);
    if (u == nullptr) {
        return revoked;
    }
    auto& me = by();
    const auto number = first().number();
    me.all.holds.waits_for_request(number);
    u->async_wait_revoked(me.counted("async_wait_revoked",
                                     [revoked, number, all = &me.all.holds](colock::error_code ec) {
                                         if (!ec) {
                                             *revoked = true;
                                             all->asked(number);
                                         }
                                     }));
    return revoked;
}

// For about as long as a session lives. It does not look whether the lock is lost: it relies on being told.
asio::awaitable<void> held::use_for_long(random& chance)
{
    const auto me = inner_->by;
    const auto longest = 2 * std::chrono::nanoseconds{me->all.most_timeout};
    const auto until = me->all.time.now() + chance.between(1s, longest);
    const auto revoked = listen();
    while (!me->is_over() && !me->all.calm && !*revoked && me->all.time.now() < until) {
        co_await me->pause(10ms, 1s);
    }
    write();
}

asio::awaitable<void> held::use(random& chance)
{
    const auto me = inner_->by;
    // Several locks are rarer, and may be lost one by one.
    const bool several = std::holds_alternative<colock::multi_guard>(inner_->guard);
    const auto in = me->all.rare;
    const bool rare = in == rarity::uneven || in == rarity::late || in == rarity::alone ||
                      in == rarity::writes || (several && in == rarity::together);
    const unsigned patient = me->all.too_small_ticks ? 900 : rare ? 500 : several ? 200 : 40;
    if (!me->all.calm && chance.per_mille(patient)) {
        co_await use_for_long(chance);
        co_return;
    }
    const auto until = me->all.time.now() + some_time(chance, 1s);
    write();
    const auto revoked = chance.per_mille(200) ? listen() : std::make_shared<bool>(false);
    while (*this && !*revoked && me->all.time.now() < until && !me->all.draining &&
           !me->is_over()) {
        if (chance.per_mille(150)) {
            co_await write_guarded();
        }
        if (inner_) {
            write();
        }
        const auto rest = until - me->all.time.now();
        co_await me->pause(std::min<std::chrono::nanoseconds>(rest, 1us),
                           std::min<std::chrono::nanoseconds>(rest, 100ms));
    }
    // Some take a while to notice that they have lost it.
    if (!*this && chance.per_mille(300)) {
        co_await me->pause(0ms, 3s);
        write();
    }
}

asio::awaitable<void> held::release(random& chance)
{
    const auto me = inner_->by;
    const auto let_go = std::exchange(inner_, nullptr);
    let_go->tickets.clear();
    // Where waiters do not share nodes, that of a lock that is unlocked is gone.
    std::vector<std::string> nodes;
    const auto expect = [&](std::size_t place, const colock::held_lock& lock) {
        const auto kind = me->at(place).kind;
        if (me->options(place).max_local_grants == 0 &&
            (kind == lock_kind::mutex || kind == lock_kind::shared_mutex)) {
            nodes.push_back(me->whole(lock.node()));
        }
    };
    const auto expect_permits = [&](const colock::permit& p) {
        for (const auto& node : p.nodes()) {
            nodes.push_back(me->whole(node));
        }
    };
    if (const auto* const u = std::get_if<colock::unique_lock>(&let_go->guard)) {
        expect(let_go->places.front(), *u);
    } else if (const auto* const m = std::get_if<colock::multi_guard>(&let_go->guard)) {
        for (std::size_t i = 0; i < m->size(); ++i) {
            if (me->at(let_go->places[i]).kind == lock_kind::semaphore) {
                expect_permits(m->permits(i));
            } else {
                expect(let_go->places[i], (*m)[i]);
            }
        }
    } else if (auto* const p = std::get_if<colock::permit>(&let_go->guard)) {
        if (p->count() > 1 && chance.per_mille(300)) {
            const auto part = p->split(1); // which is destroyed
        }
        expect_permits(*p);
    }
    const auto way = chance.below(10);
    if (way < 2) {
        co_return; // destroyed
    }
    canceller stop{*me, chance};
    stop.perhaps(150);
    const bool awaited = way < 8;
    const auto unlocked = [me, nodes](colock::error_code ec) {
        if (ec) {
            me->ended("async_unlock", ec);
            return;
        }
        for (const auto& node : nodes) {
            if (me->all.queues.exists(node)) {
                me->all.found.add("G3 unlock", me->all.journal.name_of(me->who) +
                                                   " is told that it has unlocked, and " + node +
                                                   " is still there");
            }
        }
    };
    if (auto* const p = std::get_if<colock::permit>(&let_go->guard)) {
        if (awaited) {
            auto [ec] = co_await p->async_release(me->tuple("async_release", stop.slot()));
            unlocked(ec);
        } else {
            p->async_release(me->counted("async_release", unlocked));
        }
    } else if (auto* const u = std::get_if<colock::unique_lock>(&let_go->guard)) {
        if (chance.per_mille(100)) {
            auto moved = std::move(*u);
            *u = std::move(moved);
        }
        if (awaited) {
            auto [ec] = co_await u->async_unlock(me->tuple("async_unlock", stop.slot()));
            unlocked(ec);
        } else {
            u->async_unlock(me->counted("async_unlock", unlocked));
        }
    } else if (auto* const s = std::get_if<colock::shared_lock>(&let_go->guard)) {
        if (awaited) {
            auto [ec] = co_await s->async_unlock(me->tuple("async_unlock", stop.slot()));
            unlocked(ec);
        } else {
            s->async_unlock(me->counted("async_unlock", unlocked));
        }
    } else if (auto* const m = std::get_if<colock::multi_guard>(&let_go->guard)) {
        if (awaited) {
            auto [ec] = co_await m->async_unlock(me->tuple("async_unlock", stop.slot()));
            unlocked(ec);
        } else {
            m->async_unlock(me->counted("async_unlock", unlocked));
        }
    }
}

} // namespace world::workload
