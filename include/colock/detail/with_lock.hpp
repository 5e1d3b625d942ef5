// Running a body under a lock, and cancelling it when the lock is lost.
#ifndef COLOCK_DETAIL_WITH_LOCK_HPP
#define COLOCK_DETAIL_WITH_LOCK_HPP

#include <colock/detail/body_reports.hpp>
#include <colock/detail/operation.hpp>
#include <colock/detail/temporary_body.hpp>
#include <colock/error.hpp>
#include <colock/lock_options.hpp>
#include <colock/unique_lock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace colock::detail {

// What a body returns: an awaitable, or an operation that takes a token.
template <class Body>
struct body_result : body_result<std::invoke_result_t<Body, asio::use_awaitable_t<>>> {
};
template <class T>
struct body_result<asio::awaitable<T>> {
    using type = T;
};
template <class F, class Guard = unique_lock>
using body_result_t = typename body_result<std::invoke_result_t<F&, Guard&>>::type;

// A guard whose lock somebody else can ask for.
template <class Guard>
concept revocable = requires(const Guard& held)
{
    held.async_wait_revoked();
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

// The operation of a body that was passed to a function as a forwarding reference; F is the deduced type.
template <class F, class CompletionToken, class Guard = unique_lock>
struct body_operation_of : body_operation<body_result_t<std::decay_t<F>, Guard>> {
    static_assert(
        !destroyed_twice<F, CompletionToken>,
        "Within a co_await expression GCC 12 destroys twice what a lambda captures by value. "
        "Capture by reference: the body ends before the co_await expression completes. Or give the "
        "lambda a name and pass that name, or std::ref of it if it cannot be copied.");
};

// One execution. Everything runs on a strand over the handler's executor, where cancellation signals may
// be touched. The handlers of what is under way keep it alive.
template <class Lock, class F>
class supervised_body : public std::enable_shared_from_this<supervised_body<Lock, F>> {
    using Guard = typename Lock::guard_type;
    using result = body_result_t<F, Guard>;
    using pointer = typename body_operation<result>::pointer;
    using values = typename body_operation<result>::values;

public:
    supervised_body(const asio::any_io_executor& executor, Lock lock, F body, pointer op)
        : strand_{asio::make_strand(executor)}, lock_{std::move(lock)}, body_{std::move(body)},
          op_{std::move(op)}, grace_{strand_}
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
        lock_.async_lock(
            on_strand(acquiring_, [self = this->shared_from_this()](error_code ec, Guard held) {
                self->held_ = std::move(held);
                if (ec) {
                    self->finish(failure(ec), {});
                } else if (self->cancelled_ != asio::cancellation_type::none) {
                    self->conclude_early(); // it came too late, but no body has begun
                } else if (self->lost_ = self->held_.lost(); self->lost_) {
                    self->held_ = {}; // the grant was on its way for so long
                    self->conclude({}, {});
                } else {
                    self->run();
                }
            }));
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
        if constexpr (revocable<Guard>) {
            if (lock_.options().cancel_when_revoked) {
                wait_revoked();
            }
        }
        asio::co_spawn(strand_, execute(this->shared_from_this()),
                       on_strand(stopping_, [self = this->shared_from_this()](std::exception_ptr e,
                                                                              auto&&... value) {
                           self->ended(std::move(e), {std::move(value)...});
                       }));
    }

    void wait_revoked()
    {
        held_.async_wait_revoked(
            on_strand(listening_, [self = this->shared_from_this()](error_code ec) {
                if (!ec && self->running_ && !self->stopped_) {
                    self->revoked_ = true;
                    self->stop(asio::cancellation_type::all);
                }
            }));
    }

    static asio::awaitable<result> execute(std::shared_ptr<supervised_body> self)
    {
        using body = std::invoke_result_t<F&, Guard&>;
        if constexpr (std::is_same_v<body, asio::awaitable<result>>) {
            co_return co_await self->body_(self->held_);
        } else {
            co_return co_await self->body_(self->held_)(asio::use_awaitable);
        }
    }

    void conclude_early()
    {
        if (ends_at_once(cancelled_)) {
            held_ = {}; // released in the background
            finish(aborted(), {});
            return;
        }
        held_.async_unlock(on_strand(acquiring_, [self = this->shared_from_this()](error_code) {
            self->finish(aborted(), {});
        }));
    }

    void stop(asio::cancellation_type type)
    {
        if (!std::exchange(stopped_, true)) {
            body_reports::cancelled(held_);
            grace_.expires_after(lock_.options().body_grace);
            grace_.async_wait([self = this->shared_from_this()](const error_code& ec) {
                if (!ec && self->running_) {
                    body_reports::overdue(self->held_, self->lock_.options());
                }
            });
        }
        stopping_.emit(type);
    }

    void ended(std::exception_ptr e, values value)
    {
        running_ = false;
        grace_.cancel();
        if (!lost_) {
            lost_ = held_.lost(); // its word may be on its way
        }
        watching_.emit(asio::cancellation_type::terminal);
        listening_.emit(asio::cancellation_type::terminal);
        const bool in_a_hurry = cancelled_ != asio::cancellation_type::none;
        if (lost_ || in_a_hurry) {
            held_ = {}; // released in the background, if it is not lost
            conclude(std::move(e), std::move(value));
            return;
        }
        held_.async_unlock(on_strand(acquiring_, [self = this->shared_from_this(), e = std::move(e),
                                                  value = std::move(value)](error_code ec) mutable {
            if (ec == errc::session_expired || ec == errc::node_deleted ||
                ec == errc::safe_until_passed || ec == errc::client_closed) {
                self->lost_ = ec;
            } // else the release goes on in the background
            self->conclude(std::move(e), std::move(value));
        }));
    }

    // The body's own exception wins over the loss, but not the one that comes of being cancelled.
    void conclude(std::exception_ptr e, values value)
    {
        if (lost_ && (!e || is_aborted(e))) {
            e = std::make_exception_ptr(
                boost::system::system_error{make_error_code(errc::lock_lost), lost_.message()});
        } else if (revoked_ && e && is_aborted(e)) {
            e = failure(errc::revoked); // what a body gave all the same was made under the lock
        }
        finish(std::move(e), std::move(value));
    }

    void finish(std::exception_ptr e, values value)
    {
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

    static std::exception_ptr failure(const error_code& ec)
    {
        return std::make_exception_ptr(boost::system::system_error{ec, "async_with_lock"});
    }
    static std::exception_ptr aborted() { return failure(asio::error::operation_aborted); }

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
    F body_;
    pointer op_;
    asio::steady_timer grace_;
    asio::cancellation_signal acquiring_; // or releasing
    asio::cancellation_signal watching_;
    asio::cancellation_signal listening_;
    asio::cancellation_signal stopping_;
    asio::cancellation_type cancelled_ = asio::cancellation_type::none; // by the user
    Guard held_;
    bool running_ = false;
    bool stopped_ = false;
    bool revoked_ = false;
    error_code lost_;
};

template <class Lock>
class initiate_with_lock {
    using Guard = typename Lock::guard_type;

public:
    using executor_type = asio::any_io_executor;

    explicit initiate_with_lock(const Lock& lock) : lock_{lock} {}

    [[nodiscard]] executor_type get_executor() const noexcept { return lock_.get_executor(); }

    template <class Handler, class F>
    void operator()(Handler&& handler, F&& body) const
    {
        using handler_type = std::decay_t<Handler>;
        using function = std::decay_t<F>;
        using types = body_operation<body_result_t<function, Guard>>;
        using supervisor = supervised_body<Lock, function>;

        auto executor = executor_of(asio::get_associated_executor(handler, get_executor()));
        auto slot = asio::get_associated_cancellation_slot(handler);
        typename types::pointer op{types::template of<handler_type>::make(
            handler_type{std::forward<Handler>(handler)}, get_executor(), nullptr)};
        const auto running =
            std::make_shared<supervisor>(executor, lock_, std::forward<F>(body), std::move(op));
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

// The operation of every async_with_lock. A Lock names its guard, and has async_lock, options and get_executor.
template <class Lock, class F, class CompletionToken>
    requires requires
    {
        typename Lock::guard_type;
    }
auto with_lock(const Lock& lock, F&& body, CompletionToken&& token)
{
    using result = body_operation_of<F, CompletionToken, typename Lock::guard_type>;
    return asio::async_initiate<CompletionToken, typename result::signature>(
        initiate_with_lock<Lock>{lock}, token, std::forward<F>(body));
}

} // namespace colock::detail

#endif
