#include "held.hpp"
#include "workloads.hpp"

#include <functional>
#include <memory>
#include <utility>

namespace world::workload {

using namespace std::chrono_literals;

namespace {

// One of many who take turns by callbacks. Its next operation begins within the handler of the last one, and the
// guard, or the mutex, is often destroyed there.
class visitor : public std::enable_shared_from_this<visitor> {
public:
    visitor(customer::ptr by, std::size_t place, random chance, std::size_t& others,
            asio::steady_timer& all_gone)
        : me_{std::move(by)}, place_{place}, random_{chance}, others_{others}, all_gone_{all_gone},
          timer_{me_->home.context()}
    {
        ++others_;
    }

    void come()
    {
        if (me_->is_over()) {
            go();
            return;
        }
        if (!lock_ || random_.per_mille(200)) {
            lock_ = std::make_unique<colock::mutex>(*me_->zk, me_->path(me_->at(place_).path),
                                                    me_->options(place_));
        }
        const auto handler = [self = shared_from_this()](colock::error_code ec,
                                                         colock::unique_lock guard) {
            self->came(ec, std::move(guard));
        };
        if (random_.per_mille(700)) {
            in_line_ = me_->stand_in_line(place_);
            lock_->async_lock(me_->counted("async_lock", handler));
        } else {
            const auto limit = some_time(random_, 2s);
            lock_->async_try_lock_for(
                limit, me_->counted("async_try_lock_for",
                                    [handler, me = me_, of = me_->begin_limited(limit)](
                                        colock::error_code ec, colock::unique_lock guard) {
                                        me->ended_limited("a limited attempt", of, ec);
                                        handler(ec, std::move(guard));
                                    }));
        }
        if (random_.per_mille(100)) {
            lock_.reset(); // the operation goes on
        }
    }

private:
    void came(colock::error_code ec, colock::unique_lock guard)
    {
        if (in_line_ != 0) {
            me_->leave_line(place_, std::exchange(in_line_, 0), !ec);
        }
        if (ec || guard.state() == colock::lock_state::not_held) {
            if (ec) {
                me_->ended("crowd", ec);
            }
            later(random_.between(1ms, 50ms), [this] { come(); });
            return;
        }
        guard_ = std::make_unique<colock::unique_lock>(std::move(guard));
        mine_ = ticket{*me_, place_, check::mode::exclusive, *guard_};
        me_->all.holds.write(mine_.number());
        switch (random_.below(4)) {
        case 0: leave(); return; // at once, within the handler
        case 1: later(0ns, [this] { leave(); }); return;
        default: later(some_time(random_, 100ms), [this] { leave(); }); return;
        }
    }

    void leave()
    {
        mine_.close();
        const auto guard = std::exchange(guard_, nullptr);
        if (random_.per_mille(300)) {
            come(); // it waits while it still holds
            return;
        }
        guard->async_unlock(
            me_->counted("async_unlock", [self = shared_from_this()](colock::error_code ec) {
                if (ec) {
                    self->me_->ended("async_unlock", ec);
                }
                self->later(some_time(self->random_, 300ms), [self] { self->come(); });
            }));
    }

    template <class Next>
    void later(std::chrono::nanoseconds delay, Next next)
    {
        timer_.expires_after(delay);
        timer_.async_wait([self = shared_from_this(), next](colock::error_code) { next(); });
    }

    void go()
    {
        if (--others_ == 0) {
            all_gone_.cancel();
        }
    }

    customer::ptr me_;
    std::size_t place_;
    random random_;
    std::size_t& others_;
    asio::steady_timer& all_gone_;
    asio::steady_timer timer_;
    std::uint64_t in_line_ = 0;
    std::unique_ptr<colock::mutex> lock_;
    std::unique_ptr<colock::unique_lock> guard_;
    ticket mine_; // gone before the guard
};

} // namespace

asio::awaitable<void> crowd(customer::ptr me, std::size_t place, random chance)
{
    if (!me->zk || me->at(place).kind != lock_kind::mutex) {
        co_return;
    }
    std::size_t visitors = 0;
    asio::steady_timer all_gone{me->home.context(), std::chrono::hours{24}};
    for (auto count = chance.between(2, 12); count > 0; --count) {
        std::make_shared<visitor>(me, place, chance.branch(), visitors, all_gone)->come();
    }
    while (visitors > 0) {
        co_await all_gone.async_wait(asio::as_tuple(asio::use_awaitable));
    }
}

} // namespace world::workload
