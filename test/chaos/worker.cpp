// A process of the chaos: takes turns at a mutex, a shared mutex and a semaphore, and keeps a journal.
//
//   chaos_worker HOSTS JOURNAL REGISTER NAME NUMBER SESSION_MS TICK_MS SEED
//
// NUMBER chooses the options of the locks. It reads "quiet" (let all turns end, begin no more, stay connected) and
// "finish" (close the client in order, and return 0), one a line. The end of its input is "finish".
#include <colock/colock.hpp>

#include "attempt.hpp"
#include "journal.hpp"
#include "pulse.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/system_error.hpp>

#include <unistd.h>

#include <array>
#include <chrono>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using chaos::attempt;
using chaos::now;
using chaos::pulse;
using chaos::text_of;
using chaos::token_of;
using chaos::unlock;
using chaos::what;
using colock::error_code;
using std::chrono::milliseconds;

namespace {

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
constexpr std::int64_t permits = 3;
// The loops of a process: two at the mutex, one at the shared mutex, one at the semaphore; and one at each mutex that
// is held for so long that faults come to its holder.
constexpr int first_long = 4;
constexpr int long_locks = 8;
constexpr auto look = 15ms; // how often a holder looks at its guard
constexpr auto long_enough_to_tell =
    10s; // a holder that has found out by itself is told within this time

struct settings {
    std::string hosts, journal, register_socket, name;
    int number = 0;
    milliseconds session{0}, tick{0};
    std::uint64_t seed = 0;
};

enum class manner { waits, tries, tries_for, is_cancelled };

class worker {
public:
    worker(asio::io_context& io, settings s)
        : io_{io}, settings_{std::move(s)}, journal_{settings_.journal}, random_{settings_.seed},
          zk_{io, colock::client_options{.hosts = settings_.hosts,
                                         .session_timeout = settings_.session,
                                         .connect_timeout = milliseconds::max(),
                                         .tick = settings_.tick}},
          mutex_{zk_, "/chaos/mutex", options()}, shared_{zk_, "/chaos/rw", shared_options()},
          semaphore_{zk_, "/chaos/semaphore", permits}, pulse_{io}, input_{io, ::dup(0)}
    {
        for (int i = 0; i != long_locks; ++i) {
            long_.emplace_back(zk_, "/chaos/long-" + std::to_string(i), options());
        }
        asio::co_spawn(io_, run(), rethrow);
        asio::co_spawn(io_, obey(), rethrow);
    }

private:
    static void rethrow(std::exception_ptr failure)
    {
        if (failure) {
            std::rethrow_exception(failure);
        }
    }

    [[nodiscard]] colock::lock_options options() const
    {
        switch (settings_.number % 4) {
        case 1: return {.safety_margin = 200ms, .linger = 300ms};
        case 2: return {.max_local_grants = 0};
        case 3: return {.max_local_grants = 3, .linger = 1s};
        default: return {};
        }
    }
    [[nodiscard]] colock::lock_options shared_options() const
    {
        auto o = options();
        o.layout = colock::curator_shared_layout();
        return o;
    }

    int draw(int least, int most) { return std::uniform_int_distribution{least, most}(random_); }

    asio::awaitable<void> obey()
    {
        std::string text;
        for (;;) {
            const auto [ec, size] = co_await asio::async_read_until(
                input_, asio::dynamic_buffer(text), '\n', as_result);
            const auto line = text.substr(0, size);
            text.erase(0, size);
            quiet_ = true;
            if (ec || line == "finish\n") {
                finish();
                co_return;
            }
        }
    }

    void finish()
    {
        finishing_ = true;
        for (const auto& [turn, cancel] : cancels_) {
            cancel();
        }
        if (zk_.state() != colock::connection_state::connected && !started_) {
            zk_.async_close([](error_code) {});
        }
    }

    asio::awaitable<void> run()
    {
        const auto [failed] = co_await zk_.async_connect(as_result);
        if (!failed) {
            started_ = true;
            journal_.write(now(), what::started, 0);
            for (int kind = 0; kind != first_long + long_locks; ++kind) {
                ++loops_;
                asio::co_spawn(io_, take_turns(kind), [this](std::exception_ptr failure) {
                    rethrow(failure);
                    --loops_;
                });
            }
            while (loops_ > 0) {
                co_await pause(5ms);
            }
            journal_.write(now(), what::quiet, 0);
            while (!finishing_) {
                co_await pause(5ms);
            }
        } else if (!finishing_) {
            throw boost::system::system_error{failed, zk_.last_error_detail()};
        }
        const auto [ec] = co_await zk_.async_close(as_result);
        journal_.write(now(), what::closed, 0, text_of(ec));
        pulse_.stop();
        input_.close();
    }

    asio::awaitable<void> pause(std::chrono::steady_clock::duration time)
    {
        asio::steady_timer timer{io_, time};
        co_await timer.async_wait(as_result);
    }

    asio::awaitable<void> take_turns(int kind)
    {
        asio::local::stream_protocol::socket to_register{io_};
        const asio::local::stream_protocol::endpoint at{settings_.register_socket};
        to_register.connect(at);
        while (!quiet_) {
            const auto chosen = draw(0, 99);
            const auto how = chosen < 60   ? manner::waits
                             : chosen < 70 ? manner::tries
                             : chosen < 85 ? manner::tries_for
                                           : manner::is_cancelled;
            if (kind >= first_long) {
                auto& lock = long_[static_cast<std::size_t>(kind - first_long)];
                const auto name = lock.path().substr(std::string_view{"/chaos/"}.size());
                if (draw(0, 1) == 0) {
                    co_await run_body(name, lock);
                } else {
                    co_await take_lock<colock::unique_lock>(name, lock, manner::waits, to_register);
                }
            } else if (kind < 2 && draw(0, 3) == 0) {
                co_await run_body("mutex", mutex_);
            } else if (kind < 2) {
                co_await take_lock<colock::unique_lock>("mutex", mutex_, how, to_register);
            } else if (kind == 2 && draw(0, 99) < 30) {
                co_await take_lock<colock::unique_lock>("rw", shared_, how, to_register);
            } else if (kind == 2) {
                co_await take_shared(how, to_register);
            } else {
                co_await take_permits(how, to_register);
            }
            co_await pause(milliseconds{draw(0, 150)});
        }
    }

    template <class Guard, class Lock>
    asio::awaitable<void> take_lock(const std::string& name, Lock& lock, manner how,
                                    asio::local::stream_protocol::socket& to_register)
    {
        const auto limit = milliseconds{draw(0, 2000)};
        const auto start = [&lock, how, limit](auto handler) {
            switch (how) {
            case manner::tries: return lock.async_try_lock(std::move(handler));
            case manner::tries_for: return lock.async_try_lock_for(limit, std::move(handler));
            default: return lock.async_lock(std::move(handler));
            }
        };
        co_await turn<Guard>(name, "exclusive", how, start, to_register);
    }

    asio::awaitable<void> take_shared(manner how, asio::local::stream_protocol::socket& to_register)
    {
        const auto limit = milliseconds{draw(0, 2000)};
        const auto start = [this, how, limit](auto handler) {
            switch (how) {
            case manner::tries: return shared_.async_try_lock_shared(std::move(handler));
            case manner::tries_for:
                return shared_.async_try_lock_shared_for(limit, std::move(handler));
            default: return shared_.async_lock_shared(std::move(handler));
            }
        };
        co_await turn<colock::shared_lock>("rw", "shared", how, start, to_register);
    }

    asio::awaitable<void> take_permits(manner how,
                                       asio::local::stream_protocol::socket& to_register)
    {
        const auto limit = milliseconds{draw(0, 2000)};
        const std::int64_t count = draw(1, static_cast<int>(permits));
        const auto start = [this, how, limit, count](auto handler) {
            switch (how) {
            case manner::tries: return semaphore_.async_try_acquire(count, std::move(handler));
            case manner::tries_for:
                return semaphore_.async_try_acquire_for(count, limit, std::move(handler));
            default: return semaphore_.async_acquire(count, std::move(handler));
            }
        };
        co_await turn<colock::permit>("semaphore", std::to_string(count), how, start, to_register);
    }

    // With async_with_lock: who loses the lock is told by being cancelled.
    asio::awaitable<void> run_body(const std::string& lock, colock::mutex& m)
    {
        const auto number = ++turns_;
        const auto a = std::make_shared<attempt<colock::unique_lock>>(io_);
        journal_.write(now(), what::asked, number, lock + " exclusive");
        const auto time = time_to_hold(lock);
        const auto body = [this, lock, number, time](const colock::unique_lock& held) {
            return hold_in_body(lock, number, time, held);
        };
        m.async_with_lock(
            body, asio::bind_cancellation_slot(a->cancel.slot(), [this, number,
                                                                  a](std::exception_ptr failure) {
                const bool ran = bodies_.erase(number) != 0;
                journal_.write(now(), ran ? what::left : what::refused, number, text_of(failure));
                a->completed = true;
                a->wake.cancel();
            }));
        cancels_[number] = [a] { a->cancel.emit(asio::cancellation_type::terminal); };
        if (finishing_) {
            cancels_[number]();
        }
        while (!a->completed) {
            a->wake.expires_at(asio::steady_timer::time_point::max());
            co_await a->wake.async_wait(as_result);
        }
        cancels_.erase(number);
    }

    asio::awaitable<void> hold_in_body(std::string lock, std::uint64_t number, milliseconds time,
                                       const colock::unique_lock& held)
    {
        // Its cancellation is what it is told; it goes on.
        co_await asio::this_coro::throw_if_cancelled(false);
        asio::steady_timer timer{io_};
        const auto until = std::chrono::steady_clock::now() + time;
        bodies_.insert(number);
        journal_.write(now(), what::granted, number, token_of(held));
        bool lapsed = false;
        bool cancelled = false;
        for (bool first = true; !lapsed && !cancelled; first = false) {
            const auto at = now();
            lapsed = !held;
            journal_.write(at, lapsed ? what::lapsed : what::holds, number);
            if (lapsed || quiet_ || std::chrono::steady_clock::now() >= until) {
                break;
            }
            if (first) {
                co_await write_once(lock, number, token_of(held));
            } else {
                timer.expires_at(std::min(until, std::chrono::steady_clock::now() + look));
                co_await timer.async_wait(as_result);
            }
            // It may have come when the timer had expired.
            const auto state = co_await asio::this_coro::cancellation_state;
            cancelled = state.cancelled() != asio::cancellation_type::none;
        }
        lapsed = !held;
        if (lapsed && !cancelled) {
            timer.expires_after(long_enough_to_tell);
            const auto [ec] = co_await timer.async_wait(as_result);
            cancelled = static_cast<bool>(ec);
        }
        if (lapsed) {
            journal_.write(now(), cancelled ? what::told : what::untold, number,
                           std::to_string(pulse_.ran()) + ' ' + text_of(held.loss_reason()));
        }
        journal_.write(now(), what::leaving, number);
    }

    // On a connection of its own: a write that is cancelled leaves an answer behind.
    asio::awaitable<void> write_once(const std::string& lock, std::uint64_t number,
                                     const std::string& token)
    {
        asio::local::stream_protocol::socket to_register{io_};
        const asio::local::stream_protocol::endpoint place{settings_.register_socket};
        to_register.connect(place);
        co_await write(lock, number, token, to_register);
    }

    template <class Guard, class Start>
    asio::awaitable<void> turn(const std::string& lock, const std::string& mode, manner how,
                               const Start& start,
                               asio::local::stream_protocol::socket& to_register)
    {
        const auto number = ++turns_;
        const auto a = std::make_shared<attempt<Guard>>(io_);
        journal_.write(now(), what::asked, number, lock + ' ' + mode);
        start(asio::bind_cancellation_slot(a->cancel.slot(),
                                           [this, number, a](error_code ec, Guard guard) {
                                               complete(number, *a, ec, std::move(guard));
                                           }));
        cancels_[number] = [a] { a->cancel.emit(asio::cancellation_type::terminal); };
        if (how == manner::is_cancelled) {
            a->wake.expires_after(milliseconds{draw(0, 1500)});
            co_await a->wake.async_wait(as_result);
            if (!a->completed) {
                a->cancel.emit(draw(0, 1) == 0 ? asio::cancellation_type::terminal
                                               : asio::cancellation_type::total);
            }
        }
        if (finishing_) {
            cancels_[number]();
        }
        while (!a->completed) {
            a->wake.expires_at(asio::steady_timer::time_point::max());
            co_await a->wake.async_wait(as_result);
        }
        cancels_.erase(number);
        if (a->guard.state() == colock::lock_state::not_held) {
            co_return;
        }
        a->guard.async_wait_lost([this, number, a](error_code ec, error_code why) {
            if (!ec && !a->leaving) {
                journal_.write(now(), what::told, number,
                               std::to_string(pulse_.ran()) + ' ' + text_of(why));
                a->told = true;
                a->wake.cancel();
            }
        });
        co_await hold(lock, mode == "exclusive", number, *a, to_register);
        co_await leave(number, a);
    }

    template <class Guard>
    void complete(std::uint64_t number, attempt<Guard>& a, error_code ec, Guard guard)
    {
        const auto at = now();
        if (ec) {
            journal_.write(at, what::refused, number, text_of(ec));
        } else if (guard.state() == colock::lock_state::not_held) {
            journal_.write(at, what::refused, number, "busy");
        } else {
            journal_.write(at, what::granted, number, token_of(guard));
            if (guard) {
                journal_.write(at, what::holds, number);
            }
            a.guard = std::move(guard);
        }
        a.completed = true;
        a.wake.cancel();
    }

    // Mostly some milliseconds; seldom so long that a fault comes meanwhile, and the session may end.
    milliseconds time_to_hold(const std::string& lock)
    {
        if (lock.starts_with("long")) {
            return milliseconds{draw(1'000, 20'000)};
        }
        const auto chosen = draw(0, 999);
        return milliseconds{chosen < 850   ? draw(0, 25)
                            : chosen < 970 ? draw(25, 300)
                            : chosen < 990 ? draw(300, 3'000)
                                           : draw(3'000, 15'000)};
    }

    // For that time, or until it has lost the lock and was told so.
    template <class Guard>
    asio::awaitable<void> hold(const std::string& lock, bool writes, std::uint64_t number,
                               attempt<Guard>& a, asio::local::stream_protocol::socket& to_register)
    {
        const auto until = std::chrono::steady_clock::now() + time_to_hold(lock);
        bool held = true;
        bool wrote = false;
        const auto look_at_guard = [&] {
            const auto at = now();
            held = static_cast<bool>(a.guard);
            journal_.write(at, held ? what::holds : what::lapsed, number);
        };
        while (held && !a.told && !quiet_ && std::chrono::steady_clock::now() < until) {
            a.wake.expires_at(std::min(until, std::chrono::steady_clock::now() + look));
            co_await a.wake.async_wait(as_result);
            if (a.told) {
                break;
            }
            look_at_guard();
            if (held && writes && !wrote) {
                wrote = true;
                co_await write(lock, number, token_of(a.guard), to_register);
                if (!a.told) {
                    look_at_guard();
                }
            }
        }
        if (held && !a.told) {
            co_return;
        }
        const auto patience = std::chrono::steady_clock::now() + long_enough_to_tell;
        while (!a.told && std::chrono::steady_clock::now() < patience) {
            a.wake.expires_at(patience);
            co_await a.wake.async_wait(as_result);
        }
        if (!a.told) {
            journal_.write(now(), what::untold, number);
        }
        // A late-comer does no harm.
        if (writes) {
            co_await pause(milliseconds{draw(0, 6000)});
            co_await write(lock, number, token_of(a.guard), to_register);
        }
    }

    asio::awaitable<void> write(const std::string& lock, std::uint64_t number,
                                const std::string& token,
                                asio::local::stream_protocol::socket& to_register)
    {
        std::ostringstream line;
        line << lock << ' ' << settings_.name << ' ' << number << ' ' << token << '\n';
        const auto text = line.str();
        std::string answer;
        const auto sent = asio::buffer(text);
        const auto [failed, size] = co_await asio::async_write(to_register, sent, as_result);
        if (failed) { // a body that is cancelled
            co_return;
        }
        auto received = asio::dynamic_buffer(answer);
        const auto [unanswered, length] =
            co_await asio::async_read_until(to_register, received, '\n', as_result);
        if (!unanswered) {
            journal_.write(now(), answer == "accepted\n" ? what::accepted : what::rejected, number);
        }
    }

    template <class Guard>
    asio::awaitable<void> leave(std::uint64_t number, const std::shared_ptr<attempt<Guard>>& a)
    {
        a->leaving = true;
        if (draw(0, 4) == 0) {
            journal_.write(now(), what::leaving, number, "dropped");
            a->guard = {};
            co_return;
        }
        journal_.write(now(), what::leaving, number);
        unlock(a->guard, [this, number, a](error_code ec) {
            journal_.write(now(), what::left, number, text_of(ec));
            a->left = true;
            a->wake.cancel();
        });
        while (!a->left) {
            a->wake.expires_at(asio::steady_timer::time_point::max());
            co_await a->wake.async_wait(as_result);
        }
    }

    asio::io_context& io_;
    const settings settings_;
    chaos::journal_writer journal_;
    std::mt19937_64 random_;
    colock::client zk_;
    colock::mutex mutex_;
    colock::shared_mutex shared_;
    colock::semaphore semaphore_;
    std::vector<colock::mutex> long_;
    pulse pulse_;
    asio::posix::stream_descriptor input_;
    std::uint64_t turns_ = 0;
    std::map<std::uint64_t, std::function<void()>> cancels_; // of the operations under way
    std::set<std::uint64_t> bodies_;                         // the turns whose body has run
    int loops_ = 0;
    bool started_ = false;
    bool quiet_ = false;
    bool finishing_ = false;
};

} // namespace

int main(int argc, char** argv)
{
    if (argc != 9) {
        return 2;
    }
    try {
        asio::io_context io{1};
        worker w{io,
                 {.hosts = argv[1],
                  .journal = argv[2],
                  .register_socket = argv[3],
                  .name = argv[4],
                  .number = std::stoi(argv[5]),
                  .session = milliseconds{std::stoi(argv[6])},
                  .tick = milliseconds{std::stoi(argv[7])},
                  .seed = std::stoull(argv[8])}};
        io.run();
        return 0;
    } catch (const std::exception& e) {
        std::cerr << "chaos_worker: " << e.what() << '\n';
        return 1;
    }
}
