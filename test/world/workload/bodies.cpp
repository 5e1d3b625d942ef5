#include "taking.hpp"
#include "workloads.hpp"

#include <boost/system/system_error.hpp>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

namespace world::workload {

using namespace std::chrono_literals;

namespace {

struct gives_up : std::runtime_error {
    gives_up() : std::runtime_error{"the body gives up"} {}
};

// How a body has ended.
struct ending {
    bool was_lost = false; // its lock, when it gave its result
};

// What is done under the lock. Everything that it needs is its own: it may be destroyed behind its caller.
template <class Guard>
asio::awaitable<int> work(customer::ptr me, std::size_t place, check::mode how, const Guard& guard,
                          random chance, std::shared_ptr<ending> how_it_ended)
{
    ticket mine{*me, place, how, guard};
    if (guard.loss_reason()) {
        me->all.found.add("G5 body", "a body of " + me->all.journal.name_of(me->who) +
                                         " begins, though its lock is lost");
    }
    if (chance.per_mille(500)) {
        mine.watch(*me, guard);
    }
    me->all.holds.write(mine.number());
    const bool patient = !me->all.calm && chance.per_mille(40);
    const auto until =
        me->all.time.now() +
        (patient ? chance.between(1s, 2 * std::chrono::nanoseconds{me->all.most_timeout})
                 : some_time(chance, 1s));
    const auto& machine = me->home.on();
    instant lost_at = instant::max();
    std::uint64_t stops = 0;
    // At the end each of those who wait, who may be very many, has one more turn.
    while (me->all.time.now() < until && !(patient && me->all.calm) && !me->all.draining &&
           !me->is_over()) {
        asio::steady_timer timer{me->home.context(), chance.between(1us, 50ms)};
        co_await timer.async_wait(asio::use_awaitable); // throws when the body is cancelled
        me->all.holds.write(mine.number());
        if (guard.loss_reason() && lost_at == instant::max()) {
            lost_at = me->all.time.now();
            stops = machine.stops();
        } else if (guard.loss_reason() && me->all.time.now() - lost_at > 1ms &&
                   stops == machine.stops()) {
            me->all.found.add("G5 body", "a body of " + me->all.journal.name_of(me->who) +
                                             " goes on, though its lock was lost at " +
                                             check::text_of(lost_at));
            break;
        }
    }
    if (chance.per_mille(50)) {
        throw gives_up{};
    }
    how_it_ended->was_lost = static_cast<bool>(guard.loss_reason());
    co_return 7;
}

void judge(customer& me, const char* what, const std::exception_ptr& e)
{
    try {
        std::rethrow_exception(e);
    } catch (const boost::system::system_error& failure) {
        me.ended(what, failure.code());
    } catch (const gives_up&) {
        me.remark("a body gave up");
    }
}

// It has given a result.
void judge(customer& me, const char* what, const ending& how)
{
    if (how.was_lost) {
        me.all.found.add("G5 body", std::string{what} + " of " + me.all.journal.name_of(me.who) +
                                        " does not say that its lock was lost");
    }
}

template <class Lock>
asio::awaitable<void> run_body(customer::ptr me, std::size_t place, Lock& lock, random& chance)
{
    canceller stop{*me, chance};
    stop.perhaps(250);
    std::exception_ptr failure;
    const auto how_it_ended = std::make_shared<ending>();
    try {
        auto body = [&](const colock::unique_lock& g) {
            return work(me, place, check::mode::exclusive, g, chance.branch(), how_it_ended);
        };
        const auto result = co_await lock.async_with_lock(
            body, me->counted("async_with_lock",
                              asio::bind_cancellation_slot(stop.slot(), asio::use_awaitable)));
        if (result != 7) {
            me->all.found.add("errors", "a body gave 7, and async_with_lock gives something else");
        }
        judge(*me, "async_with_lock", *how_it_ended);
    } catch (...) {
        failure = std::current_exception();
    }
    if (failure) {
        judge(*me, "async_with_lock", failure);
        co_await me->pause(1ms, 20ms);
    }
}

asio::awaitable<void> run_body_shared(customer::ptr me, std::size_t place,
                                      colock::shared_mutex& lock, random& chance)
{
    canceller stop{*me, chance};
    stop.perhaps(250);
    std::exception_ptr failure;
    const auto how_it_ended = std::make_shared<ending>();
    try {
        auto body = [&](const colock::shared_lock& g) {
            return work(me, place, check::mode::shared, g, chance.branch(), how_it_ended);
        };
        co_await lock.async_with_lock_shared(
            body, me->counted("async_with_lock_shared",
                              asio::bind_cancellation_slot(stop.slot(), asio::use_awaitable)));
        judge(*me, "async_with_lock_shared", *how_it_ended);
    } catch (...) {
        failure = std::current_exception();
    }
    if (failure) {
        judge(*me, "async_with_lock_shared", failure);
        co_await me->pause(1ms, 20ms);
    }
}

} // namespace

asio::awaitable<void> bodies(customer::ptr me, std::size_t place, random chance)
{
    if (!me->zk || me->at(place).kind == lock_kind::semaphore) {
        co_return;
    }
    auto lock = make_lock(*me, place);
    while (!me->is_over()) {
        co_await me->pause(0ns, 500ms);
        if (me->is_over()) {
            break;
        }
        if (auto* const m = std::get_if<colock::mutex>(&lock)) {
            co_await run_body(me, place, *m, chance);
        } else if (auto* const n = std::get_if<colock::single_node_mutex>(&lock)) {
            co_await run_body(me, place, *n, chance);
        } else if (auto* const s = std::get_if<colock::shared_mutex>(&lock)) {
            if (chance.per_mille(500)) {
                co_await run_body(me, place, *s, chance);
            } else {
                co_await run_body_shared(me, place, *s, chance);
            }
        } else {
            co_return; // recursion() has those with an owner
        }
    }
}

asio::awaitable<void> candidate(customer::ptr me, std::size_t place, random chance)
{
    if (!me->zk) {
        co_return;
    }
    // Candidates of one client need the same identity and options.
    const auto& options = me->options(place);
    colock::election_options o;
    o.rejoin_on_expiry = options.rejoin_on_expiry;
    o.safety_margin = options.safety_margin;
    colock::election post{*me->zk, me->path(me->at(place).path), me->all.journal.name_of(me->who),
                          o};
    while (!me->is_over()) {
        co_await me->pause(0ns, 500ms);
        if (me->is_over()) {
            break;
        }
        canceller stop{*me, chance};
        stop.perhaps(250);
        std::exception_ptr failure;
        const auto how_it_ended = std::make_shared<ending>();
        try {
            auto body = [&](const colock::unique_lock& g) {
                return work(me, place, check::mode::exclusive, g, chance.branch(), how_it_ended);
            };
            co_await post.async_lead(
                body, me->counted("async_lead",
                                  asio::bind_cancellation_slot(stop.slot(), asio::use_awaitable)));
            judge(*me, "async_lead", *how_it_ended);
        } catch (...) {
            failure = std::current_exception();
        }
        if (failure) {
            judge(*me, "async_lead", failure);
            co_await me->pause(1ms, 20ms);
        }
        if (!me->is_over() && chance.per_mille(100)) {
            auto [ec, identities] =
                co_await post.async_participants(me->tuple("async_participants"));
            if (ec) {
                me->ended("async_participants", ec);
            }
        }
        if (!me->is_over() && chance.per_mille(100)) {
            canceller enough{*me, chance};
            enough.after(chance.between(1ms, 2s), asio::cancellation_type::terminal);
            auto [ec, leader] =
                co_await post.async_wait_change({}, me->tuple("async_wait_change", enough.slot()));
            if (ec) {
                me->ended("async_wait_change", ec);
            }
        }
    }
}

} // namespace world::workload
