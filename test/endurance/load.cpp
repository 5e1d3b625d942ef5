#include "load.hpp"

#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <exception>
#include <future>
#include <mutex>
#include <optional>
#include <random>
#include <sstream>
#include <tuple>
#include <utility>
#include <variant>

namespace endurance {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using colock::error_code;

namespace {

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

constexpr std::size_t workers_a_client = 10;
constexpr std::size_t locks_a_client = 20;
constexpr std::size_t clients_a_crowd = 50; // at one lock that all of them want
constexpr auto hold_time = 1s;              // on average
constexpr auto crowd_hold_time = 20ms;
constexpr auto long_hold_time = 30s; // of one turn in fifty

using any_lock = std::variant<colock::mutex, colock::shared_mutex, colock::semaphore>;

any_lock make_lock(colock::client& c, std::size_t number)
{
    const auto path = "/endurance/" + std::to_string(number);
    switch (number % 4) {
    case 0: return colock::semaphore{c, path, 2};
    case 1: return colock::shared_mutex{c, path};
    case 2: return colock::mutex{c, path, {.linger = 2s}};
    default: return colock::mutex{c, path};
    }
}

// The operations of each kind of lock under one name each.
struct exclusively {
    template <class Lock, class Token>
    static auto wait(Lock& l, Token&& token)
    {
        return l.async_lock(std::forward<Token>(token));
    }
    template <class Lock, class Token>
    static auto try_once(Lock& l, Token&& token)
    {
        return l.async_try_lock(std::forward<Token>(token));
    }
    template <class Lock, class Token>
    static auto try_for(Lock& l, clock::duration limit, Token&& token)
    {
        return l.async_try_lock_for(limit, std::forward<Token>(token));
    }
    static auto release(colock::held_lock& guard) { return guard.async_unlock(as_result); }
};
struct sharing : exclusively {
    template <class Token>
    static auto wait(colock::shared_mutex& l, Token&& token)
    {
        return l.async_lock_shared(std::forward<Token>(token));
    }
    template <class Token>
    static auto try_once(colock::shared_mutex& l, Token&& token)
    {
        return l.async_try_lock_shared(std::forward<Token>(token));
    }
    template <class Token>
    static auto try_for(colock::shared_mutex& l, clock::duration limit, Token&& token)
    {
        return l.async_try_lock_shared_for(limit, std::forward<Token>(token));
    }
};
struct one_permit {
    template <class Token>
    static auto wait(colock::semaphore& l, Token&& token)
    {
        return l.async_acquire(std::forward<Token>(token));
    }
    template <class Token>
    static auto try_once(colock::semaphore& l, Token&& token)
    {
        return l.async_try_acquire(std::forward<Token>(token));
    }
    template <class Token>
    static auto try_for(colock::semaphore& l, clock::duration limit, Token&& token)
    {
        return l.async_try_acquire_for(1, limit, std::forward<Token>(token));
    }
    static auto release(colock::permit& guard) { return guard.async_release(as_result); }
};

asio::awaitable<void> pause_until(clock::time_point when)
{
    asio::steady_timer timer{co_await asio::this_coro::executor, when};
    co_await timer.async_wait(as_result);
}

void rethrow(std::exception_ptr failure)
{
    if (failure) {
        std::rethrow_exception(failure);
    }
}

} // namespace

struct load::member {
    member(asio::io_context& io, const load_options& o, std::size_t number)
        : zk{io, colock::client_options{.hosts = o.hosts,
                                        .session_timeout = 30s,
                                        .connect_timeout = std::chrono::minutes{5}}}
    {
        const auto first = number * locks_a_client / 2;
        for (std::size_t i = 0; i != locks_a_client; ++i) {
            locks.push_back(make_lock(zk, (first + i) % o.locks));
        }
        crowd.emplace(zk, "/endurance/crowd-" + std::to_string(number / clients_a_crowd));
    }

    colock::client zk;
    std::vector<any_lock> locks;
    std::optional<colock::mutex> crowd;
};

// One chain of turns of a client.
struct load::worker {
    worker(load& l, member& m, std::uint64_t seed, clock::time_point the_end)
        : all{l}, own{m}, random{seed}, end{the_end}
    {
    }

    clock::duration draw(clock::duration mean)
    {
        std::exponential_distribution<double> time{1 / std::chrono::duration<double>{mean}.count()};
        return std::chrono::duration_cast<clock::duration>(
            std::chrono::duration<double>{std::min(time(random), 600.0)});
    }
    std::size_t draw_below(std::size_t limit)
    {
        return std::uniform_int_distribution<std::size_t>{0, limit - 1}(random);
    }

    void count(std::uint64_t turn_counts::*which)
    {
        const std::lock_guard guard{all.mutex_};
        ++(all.counts_.*which);
    }
    void count_error(const error_code& ec)
    {
        std::ostringstream text;
        text << ec << ", " << ec.message();
        const std::lock_guard guard{all.mutex_};
        ++all.counts_.errors[text.str()];
    }

    asio::awaitable<void> run()
    {
        const auto between =
            std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>{
                static_cast<double>(all.members_.size() * workers_a_client) /
                all.options_.turns_a_second});
        co_await pause_until(
            std::min(end, clock::now() + between * static_cast<int>(draw_below(1000)) / 1000));
        while (clock::now() < end) {
            co_await take_turn();
            co_await pause_until(std::min(end, clock::now() + draw(between)));
        }
    }

    asio::awaitable<void> take_each()
    {
        const auto no_time = clock::duration::zero();
        for (auto& lock : own.locks) {
            if (auto* m = std::get_if<colock::mutex>(&lock)) {
                co_await hold<exclusively>(co_await m->async_lock(as_result), no_time);
            } else if (auto* s = std::get_if<colock::semaphore>(&lock)) {
                co_await hold<one_permit>(co_await s->async_acquire(as_result), no_time);
            } else {
                auto& rw = std::get<colock::shared_mutex>(lock);
                co_await hold<exclusively>(co_await rw.async_lock(as_result), no_time);
                co_await hold<sharing>(co_await rw.async_lock_shared(as_result), no_time);
            }
        }
        co_await hold<exclusively>(co_await own.crowd->async_lock(as_result), no_time);
    }

    asio::awaitable<void> take_turn()
    {
        const auto which = draw_below(own.locks.size() + 5);
        if (which >= own.locks.size()) {
            co_return co_await take<exclusively>(*own.crowd, crowd_hold_time);
        }
        auto& lock = own.locks[which];
        const clock::duration time =
            draw_below(50) == 0 ? clock::duration{long_hold_time} : hold_time;
        if (auto* m = std::get_if<colock::mutex>(&lock)) {
            co_await take<exclusively>(*m, time);
        } else if (auto* s = std::get_if<colock::semaphore>(&lock)) {
            co_await take<one_permit>(*s, time);
        } else if (draw_below(3) == 0) {
            co_await take<exclusively>(std::get<colock::shared_mutex>(lock), time);
        } else {
            co_await take<sharing>(std::get<colock::shared_mutex>(lock), time);
        }
    }

    template <class Operations, class Lock>
    asio::awaitable<void> take(Lock& lock, clock::duration mean)
    {
        const auto chosen = draw_below(100);
        if (chosen < 60) {
            co_await hold<Operations>(co_await Operations::wait(lock, as_result), draw(mean));
        } else if (chosen < 70) {
            co_await hold<Operations>(co_await Operations::try_once(lock, as_result), draw(mean));
        } else if (chosen < 85) {
            co_await hold<Operations>(co_await Operations::try_for(lock, draw(1s), as_result),
                                      draw(mean));
        } else {
            asio::cancellation_signal cancel;
            asio::steady_timer impatience{co_await asio::this_coro::executor, draw(100ms)};
            impatience.async_wait([&cancel](error_code gone) {
                if (!gone) {
                    cancel.emit(asio::cancellation_type::total);
                }
            });
            auto cancellable = asio::bind_cancellation_slot(cancel.slot(), as_result);
            auto taken = co_await Operations::wait(lock, std::move(cancellable));
            impatience.cancel();
            co_await hold<Operations>(std::move(taken), draw(mean));
        }
    }

    template <class Operations, class Guard>
    asio::awaitable<void> hold(std::tuple<error_code, Guard> taken, clock::duration time)
    {
        auto& [ec, guard] = taken;
        if (ec == asio::error::operation_aborted) {
            co_return count(&turn_counts::cancelled);
        }
        if (ec == colock::errc::disconnected || ec == colock::errc::no_answer) {
            co_return count(&turn_counts::disconnected);
        }
        if (ec) {
            co_return count_error(ec);
        }
        if (!guard) {
            co_return count(&turn_counts::busy);
        }
        count(&turn_counts::granted);
        co_await pause_until(std::min(end, clock::now() + time));
        const bool lost = static_cast<bool>(guard.loss_reason());
        const auto [failed] = co_await Operations::release(guard);
        if (lost) {
            count(&turn_counts::lost);
        } else if (failed) {
            count_error(failed);
        }
    }

    load& all;
    member& own;
    std::mt19937_64 random;
    clock::time_point end;
};

load::load(load_options options) : options_{std::move(options)}
{
    for (std::size_t i = 0; i != options_.clients; ++i) {
        members_.push_back(std::make_unique<member>(context_, options_, i));
    }
    thread_ = std::thread{[this] { context_.run(); }};
}

load::~load()
{
    context_.stop();
    thread_.join();
}

void load::connect()
{
    std::vector<std::future<void>> all;
    for (const auto& m : members_) {
        all.push_back(m->zk.async_connect(asio::use_future));
    }
    for (auto& each : all) {
        each.get();
    }
}

void load::warm_up()
{
    auto each = [](load& all, member& own) -> asio::awaitable<void> {
        worker w{all, own, 0, clock::time_point::max()};
        co_await w.take_each();
    };
    std::vector<std::future<void>> workers;
    for (const auto& m : members_) {
        workers.push_back(asio::co_spawn(context_, each(*this, *m), asio::use_future));
    }
    for (auto& w : workers) {
        w.get();
    }
}

void load::start_lap(clock::duration time)
{
    auto turns = [](load& all, member& own, std::uint64_t seed,
                    clock::time_point end) -> asio::awaitable<void> {
        worker w{all, own, seed, end};
        co_await w.run();
    };
    const auto end = clock::now() + time;
    working_ += members_.size() * workers_a_client;
    std::uint64_t seed = options_.seed + 1'000'000'000 * laps_++;
    for (const auto& m : members_) {
        for (std::size_t i = 0; i != workers_a_client; ++i) {
            asio::co_spawn(context_, turns(*this, *m, ++seed, end),
                           [this](std::exception_ptr failure) {
                               --working_;
                               rethrow(failure);
                           });
        }
    }
}

std::size_t load::contenders() const
{
    std::size_t number = 0;
    for (const auto& m : members_) {
        number += m->zk.stats().contenders;
    }
    return number;
}

turn_counts load::counts() const
{
    const std::lock_guard guard{mutex_};
    return counts_;
}

std::uint64_t load::sessions() const
{
    std::uint64_t number = 0;
    for (const auto& m : members_) {
        number += m->zk.stats().sessions;
    }
    return number;
}

std::uint64_t load::connections() const
{
    std::uint64_t number = 0;
    for (const auto& m : members_) {
        number += m->zk.stats().connections;
    }
    return number;
}

void load::close()
{
    std::vector<std::future<void>> all;
    for (const auto& m : members_) {
        all.push_back(m->zk.async_close(asio::use_future));
    }
    for (auto& each : all) {
        each.get();
    }
    std::promise<void> destroyed;
    asio::post(context_, [&] {
        members_.clear();
        destroyed.set_value();
    });
    destroyed.get_future().get();
}

} // namespace endurance
