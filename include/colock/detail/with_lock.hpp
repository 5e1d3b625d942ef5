// Running a body under a lock, and cancelling it when the lock is lost.
#ifndef COLOCK_DETAIL_WITH_LOCK_HPP
#define COLOCK_DETAIL_WITH_LOCK_HPP

#include <colock/detail/body_reports.hpp>
#include <colock/detail/deadline.hpp>
#include <colock/detail/operation.hpp>
#include <colock/detail/start_operation.hpp>
#include <colock/detail/temporary_body.hpp>
#include <colock/error.hpp>
#include <colock/fwd.hpp>
#include <colock/held_lock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/prepend.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace boost::asio {
template <class Executor>
class basic_yield_context; // of spawn.hpp, which needs Boost.Context
} // namespace boost::asio

namespace colock::detail {

// The kind of operation that a body returns: an awaitable, or one that takes a token. No `type` when it is neither.
template <class Returned, class = void>
struct awaited {
};
template <class T>
struct awaited<asio::awaitable<T>, void> {
    using type = T;
};
template <class Operation>
struct awaited<
    Operation,
    std::void_t<typename awaited<std::invoke_result_t<Operation, asio::use_awaitable_t<>>>::type>>
    : awaited<std::invoke_result_t<Operation, asio::use_awaitable_t<>>> {
};

template <class F, class Guard>
concept takes_guard = std::is_invocable_v<F&, const Guard&>;
template <class F, class Guard>
concept returns_awaitable = requires
{
    typename awaited<std::invoke_result_t<F&, const Guard&>>::type;
};

// The result of a body; nothing when the body is wrong.
template <class F, class Guard>
struct body_result {
    using type = void;
};
template <class F, class Guard>
    requires returns_awaitable<F, Guard>
struct body_result<F, Guard> : awaited<std::invoke_result_t<F&, const Guard&>> {
};
template <class F, class Guard>
using body_result_t = typename body_result<F, Guard>::type;

// The mistakes that a caller may make with a body; F is the deduced type of a forwarding reference. The public functions look
// here first, so that the compiler names the mistake in its first lines.
template <class Guard, bool tries, class F, class CompletionToken>
struct checked_body {
    using body = std::decay_t<F>;
    using result = body_result_t<body, Guard>;

    static_assert(takes_guard<body, Guard>,
                  "The body has to take the guard by const reference, for example: "
                  "[&](const colock::unique_lock& held) -> asio::awaitable<void> { ... }. The body "
                  "comes before the completion token");
    static_assert(!takes_guard<body, Guard> || returns_awaitable<body, Guard>,
                  "The body has to return an asio::awaitable, or an operation that takes a "
                  "completion token, such as a deferred one");
    static_assert(tries || std::is_void_v<result> || std::is_default_constructible_v<result>,
                  "What the body gives has to be default-constructible, for there is nothing to "
                  "give when it fails: let the body give a std::optional of it");
    static_assert(
        !destroyed_twice<F, CompletionToken>,
        "Within a co_await expression GCC 12 destroys twice what a lambda captures by value. "
        "Capture by reference: the body ends before the co_await expression completes. Or give the "
        "lambda a name and pass that name, or std::ref of it if it cannot be copied.");

    static constexpr bool value = true;
};

// The result of the operation: the body's; of a try, an optional of it, empty when the lock was not acquired.
template <class Result, bool tries>
struct body_outcome {
    using type = Result;
};
template <class Result>
struct body_outcome<Result, true> {
    using type = std::optional<Result>;
};
template <>
struct body_outcome<void, true> {
    using type = bool;
};

template <class Result>
struct body_operation {
    using signature = void(std::exception_ptr, Result);
    using pointer = operation_ptr<std::exception_ptr, Result>;
    using values = std::tuple<Result>;
    template <class Handler>
    using of = operation_of<Handler, std::exception_ptr, Result>;
};
template <>
struct body_operation<void> {
    using signature = void(std::exception_ptr);
    using pointer = operation_ptr<std::exception_ptr>;
    using values = std::tuple<>;
    template <class Handler>
    using of = operation_of<Handler, std::exception_ptr>;
};

template <class Lock, class F>
using body_outcome_t =
    typename body_outcome<body_result_t<std::decay_t<F>, typename Lock::guard_type>,
                          Lock::tries>::type;

// A lock with bodies names its guard and whether it may be had at all, and has
//   get_executor()
//   async_lock(deadline, token)           gives the guard, or, when it tries, perhaps an empty one
//   body_grace()                          how long a body may go on that was cancelled
//   each_revocable(guard, visit)          visits those locks for which a request to let go cancels the body
template <class Lock>
concept lock_with_bodies = requires
{
    typename Lock::guard_type;
    Lock::tries;
};

template <class Guard, class CompletionToken>
void release_guard(Guard& held, CompletionToken&& token)
{
    if constexpr (std::is_same_v<Guard, permit>) {
        held.async_release(std::forward<CompletionToken>(token));
    } else {
        held.async_unlock(std::forward<CompletionToken>(token));
    }
}

// One execution. Everything runs on a strand over the handler's executor, where cancellation signals may
// be touched. The handlers of what is under way keep it alive.
template <class Lock, class F>
class supervised_body : public std::enable_shared_from_this<supervised_body<Lock, F>> {
    using Guard = typename Lock::guard_type;
    using result = body_outcome_t<Lock, F>;
    using pointer = typename body_operation<result>::pointer;
    using values = typename body_operation<result>::values;

public:
    supervised_body(const asio::any_io_executor& executor, Lock lock, deadline until, F body,
                    pointer op)
        : strand_{asio::make_strand(executor)}, lock_{std::move(lock)}, until_{until},
          body_{std::move(body)}, op_{std::move(op)}, grace_{strand_}
    {
    }

    void start()
    {
        asio::dispatch(strand_, [self = this->shared_from_this()] { self->acquire(); });
    }

    // Any thread.
    void cancel(asio::cancellation_type type)
    {
        asio::dispatch(strand_, [self = this->shared_from_this(), type] {
            self->cancelled_ |= type;
            if (self->running_) {
                self->stop(type);
            } else {
                self->acquiring_.emit(type);
            }
        });
    }

private:
    void acquire()
    {
        if (cancelled_ != asio::cancellation_type::none) {
            finish(aborted(), {});
            return;
        }
        const auto self = this->shared_from_this();
        const auto acquired = [self](error_code ec, Guard held) {
            self->held_ = std::move(held);
            if (ec) {
                self->finish(self->failure(ec), {});
            } else if (self->cancelled_ != asio::cancellation_type::none) {
                self->conclude_early(); // it came too late, but no body has begun
            } else if (self->lost_ = self->held_.loss_reason(); !self->lost_) {
                self->run();
            } else if (self->lost_ == errc::not_held) {
                self->op_->tell(self->words_.message()); // it was tried, and another holder has it
                self->finish({}, {});
            } else {
                self->held_ = {}; // the grant was on its way for so long
                self->conclude({}, {});
            }
        };
        lock_.async_lock(until_, bind_diagnostics(words_, on_strand(acquiring_, acquired)));
    }

    void run()
    {
        running_ = true;
        held_.async_wait_lost(
            on_strand(watching_, [self = this->shared_from_this()](error_code ec, error_code why) {
                if (!ec && self->running_) {
                    self->lost_ = why;
                    self->stop(asio::cancellation_type::all);
                }
            }));
        lock_.each_revocable(held_, [this](const held_lock& each) { wait_revoked(each); });
        asio::co_spawn(strand_, execute(this->shared_from_this()),
                       on_strand(stopping_, [self = this->shared_from_this()](std::exception_ptr e,
                                                                              auto&&... value) {
                           self->ended(std::move(e), {std::move(value)...});
                       }));
    }

    void wait_revoked(const held_lock& asked_for)
    {
        asked_for.async_wait_revoked(
            on_strand(listening_.emplace_back(), [self = this->shared_from_this()](error_code ec) {
                if (!ec && self->running_ && !self->lost_ && !ends_at_once(self->cancelled_)) {
                    self->revoked_ = true;
                    self->stop(asio::cancellation_type::all);
                }
            }));
    }

    static asio::awaitable<result> execute(std::shared_ptr<supervised_body> self)
    {
        if constexpr (std::is_void_v<body_result_t<F, Guard>> && Lock::tries) {
            co_await awaitable_of((*self->body_)(std::as_const(self->held_)));
            co_return true;
        } else {
            co_return co_await awaitable_of((*self->body_)(std::as_const(self->held_)));
        }
    }

    template <class T>
    static asio::awaitable<T> awaitable_of(asio::awaitable<T> a)
    {
        return a;
    }
    template <class Operation>
    static auto awaitable_of(Operation&& operation)
    {
        return std::forward<Operation>(operation)(asio::use_awaitable);
    }

    void conclude_early()
    {
        if (ends_at_once(cancelled_)) {
            held_ = {}; // released in the background
            finish(aborted(), {});
            return;
        }
        release_guard(held_, on_strand(acquiring_, [self = this->shared_from_this()](error_code) {
                          self->finish(self->aborted(), {});
                      }));
    }

    void stop(asio::cancellation_type type)
    {
        if (!std::exchange(stopped_, true)) {
            body_reports::cancelled(held_);
            grace_.expires_after(lock_.body_grace());
            grace_.async_wait([self = this->shared_from_this()](const error_code& ec) {
                if (!ec && self->running_) {
                    body_reports::overdue(self->held_, self->lock_.body_grace());
                }
            });
        }
        stopping_.emit(type);
    }

    void ended(std::exception_ptr e, values value)
    {
        running_ = false;
        body_.reset();
        grace_.cancel();
        if (!lost_) {
            lost_ = held_.loss_reason(); // its word may be on its way
        }
        watching_.emit(asio::cancellation_type::terminal);
        for (auto& each : listening_) {
            each.emit(asio::cancellation_type::terminal);
        }
        const bool in_a_hurry = cancelled_ != asio::cancellation_type::none;
        if (lost_ || in_a_hurry) {
            held_ = {}; // released in the background, if it is not lost
            conclude(std::move(e), std::move(value));
            return;
        }
        release_guard(held_,
                      on_strand(acquiring_, [self = this->shared_from_this(), e = std::move(e),
                                             value = std::move(value)](error_code ec) mutable {
                          if (ec == condition::lock_lost || ec == errc::client_closed) {
                              self->lost_ = ec;
                          } // else the release goes on in the background
                          self->conclude(std::move(e), std::move(value));
                      }));
    }

    // The body's own exception wins over the loss, but not the one that comes of being cancelled.
    void conclude(std::exception_ptr e, values value)
    {
        if (lost_ && (!e || is_aborted(e))) {
            words_.assign(lost_.message());
            e = failure(errc::lock_lost);
        } else if (revoked_ && e && is_aborted(e)) {
            words_.clear();
            e = failure(errc::revoked); // what a body gave all the same was made under the lock
        }
        finish(std::move(e), std::move(value));
    }

    void finish(std::exception_ptr e, values value)
    {
        body_.reset();
        std::apply(
            [&](auto&&... v) { std::exchange(op_, {}).complete(std::move(e), std::move(v)...); },
            std::move(value));
    }

    template <class Handler>
    auto on_strand(asio::cancellation_signal& signal, Handler handler)
    {
        return asio::bind_executor(strand_,
                                   asio::bind_cancellation_slot(signal.slot(), std::move(handler)));
    }

    // Its text begins with what the lock has said. The exception adds the message of the code.
    std::exception_ptr failure(const error_code& ec) const
    {
        auto about = words_.message();
        const auto message = ec.message();
        if (about.ends_with(": " + message) || about.ends_with("; " + message)) {
            about.resize(about.size() - message.size() - 2);
        }
        op_->explain(ec, about.empty() ? message : about + ": " + message);
        return std::make_exception_ptr(
            boost::system::system_error{ec, about.empty() ? "async_with_lock" : about});
    }
    std::exception_ptr aborted() const { return failure(asio::error::operation_aborted); }

    static bool is_aborted(const std::exception_ptr& e)
    {
        try {
            std::rethrow_exception(e);
        } catch (const boost::system::system_error& error) {
            return error.code() == asio::error::operation_aborted;
        } catch (...) {
            return false;
        }
    }

    asio::any_io_executor strand_;
    Lock lock_;
    const deadline until_;
    std::optional<F> body_; // it is gone when the operation completes
    pointer op_;
    asio::steady_timer grace_;
    asio::cancellation_signal acquiring_; // or releasing
    asio::cancellation_signal watching_;
    std::list<asio::cancellation_signal> listening_;
    asio::cancellation_signal stopping_;
    asio::cancellation_type cancelled_ = asio::cancellation_type::none; // by the user
    Guard held_;
    bool running_ = false;
    bool stopped_ = false;
    bool revoked_ = false;
    error_code lost_;
    diagnostics words_; // for what has failed
};

template <class Lock>
class initiate_with_lock {
public:
    using executor_type = asio::any_io_executor;

    explicit initiate_with_lock(const Lock& lock) : lock_{lock} {}

    [[nodiscard]] executor_type get_executor() const noexcept { return lock_.get_executor(); }

    // Until a deadline; or for so long, from the initiation on.
    template <class Handler, class F, class Rep, class Period>
    void operator()(Handler&& handler, F&& body, std::chrono::duration<Rep, Period> limit) const
    {
        (*this)(std::forward<Handler>(handler), std::forward<F>(body), after(limit));
    }
    template <class Handler, class F>
    void operator()(Handler&& handler, F&& body, deadline until) const
    {
        using handler_type = std::decay_t<Handler>;
        using function = std::decay_t<F>;
        using types = body_operation<body_outcome_t<Lock, function>>;
        using supervisor = supervised_body<Lock, function>;

        auto executor = executor_of(asio::get_associated_executor(handler, get_executor()));
        auto slot = asio::get_associated_cancellation_slot(handler);
        typename types::pointer op{types::template of<handler_type>::make(
            handler_type{std::forward<Handler>(handler)}, get_executor(), nullptr)};
        const auto running = std::make_shared<supervisor>(executor, lock_, until,
                                                          std::forward<F>(body), std::move(op));
        if (slot.is_connected()) { // in place of the operation's own way to the client's strand
            slot.assign([weak = std::weak_ptr<supervisor>{running}](asio::cancellation_type type) {
                if (const auto self = weak.lock()) {
                    self->cancel(type);
                }
            });
        }
        running->start();
    }

private:
    // The body runs where the handler does, unless a coroutine cannot.
    template <class Executor>
    [[nodiscard]] asio::any_io_executor executor_of(const Executor& executor) const
    {
        if constexpr (std::is_constructible_v<asio::any_io_executor, Executor>) {
            return executor;
        } else {
            return get_executor();
        }
    }

    Lock lock_;
};

// A yield_context, also within adapters, that gets the exception of a body. It gets a tuple from asio::as_tuple, and
// another first argument from asio::prepend.
template <class Token>
inline constexpr bool is_yield = false;
template <template <class, class...> class Adapter, class Token, class... More>
inline constexpr bool is_yield<Adapter<Token, More...>> = is_yield<Token>;
template <class Executor>
inline constexpr bool is_yield<asio::basic_yield_context<Executor>> = true;
template <class Token>
inline constexpr bool is_yield<asio::as_tuple_t<Token>> = false;
template <class Token, class... Values>
inline constexpr bool is_yield<asio::prepend_t<Token, Values...>> = false;

// What asio::append has added stands behind the tuple.
template <class... Results>
std::tuple<std::exception_ptr, Results...> flat(std::tuple<std::exception_ptr, Results...>&& all)
{
    return std::move(all);
}
template <class... Results, class... Added>
auto flat(std::tuple<std::tuple<Results...>, Added...>&& all)
{
    return std::apply(
        [](std::tuple<Results...>&& first, Added&&... added) {
            return std::tuple_cat(std::move(first), std::tuple{std::move(added)...});
        },
        std::move(all));
}

// The operation of every async_with_lock.
template <lock_with_bodies Lock, class F, class Limit, class CompletionToken>
auto with_lock(const Lock& lock, F&& body, Limit limit, CompletionToken&& token)
{
    static_assert(checked_body<typename Lock::guard_type, Lock::tries, F, CompletionToken>::value);
    using types = body_operation<body_outcome_t<Lock, F>>;
    if constexpr (is_yield<std::decay_t<CompletionToken>>) {
        // Asio 1.81 rethrows the exception_ptr of a success, too, which is null.
        // A copy of a const token: of others, some adapters of Asio would take the copy for a token to adapt.
        auto as_tuple = asio::as_tuple(std::decay_t<CompletionToken>(std::as_const(token)));
        auto results = start_operation<decltype(as_tuple), typename types::signature>(
            initiate_with_lock<Lock>{lock}, as_tuple, std::forward<F>(body), limit);
        return std::apply(
            [](const std::exception_ptr& e, auto&&... values) {
                if (e) {
                    std::rethrow_exception(e);
                }
                if constexpr (sizeof...(values) == 1) {
                    return (std::move(values), ...);
                } else if constexpr (sizeof...(values) != 0) {
                    return std::tuple{std::move(values)...}; // asio::append has added some
                }
            },
            flat(std::move(results)));
    } else {
        return start_operation<CompletionToken, typename types::signature>(
            initiate_with_lock<Lock>{lock}, token, std::forward<F>(body), limit);
    }
}

} // namespace colock::detail

#endif
