// Running a body under a lock.
#ifndef COLOCK_DETAIL_WITH_LOCK_HPP
#define COLOCK_DETAIL_WITH_LOCK_HPP

#include <colock/detail/deadline.hpp>
#include <colock/detail/operation.hpp>
#include <colock/detail/start_operation.hpp>
#include <colock/detail/supervised_lock.hpp>
#include <colock/detail/temporary_body.hpp>
#include <colock/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/prepend.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>
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

template <class T>
inline constexpr bool is_awaitable = false;
template <class T>
inline constexpr bool is_awaitable<asio::awaitable<T>> = true;

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
                  "The body has to take the guard by const reference, that of this kind of lock: "
                  "[&](const colock::unique_lock& held) -> asio::awaitable<void> { ... } for a "
                  "mutex. The body comes before the completion token");
    static_assert(!takes_guard<body, Guard> || returns_awaitable<body, Guard>,
                  "The body has to return an asio::awaitable, or an operation that takes a "
                  "completion token, such as a deferred one");
    static_assert(tries || std::is_void_v<result> || std::is_default_constructible_v<result>,
                  "What the body gives has to be default-constructible, for there is nothing to "
                  "give when it fails: let the body give a std::optional of it");
    static_assert(
        !destroyed_twice<F, CompletionToken>,
        "Within a co_await expression GCC 12 destroys twice what a lambda captures by value, also "
        "one within a std::function. Capture by reference: the body ends before the co_await "
        "expression completes. Or give the body a name and pass that name without std::move; pass "
        "std::ref of it if it cannot be copied.");

    static constexpr bool value = true;
};

// The result of the operation: the body's; of a try, an optional of it, empty when the lock was not acquired.
template <class Guard, bool tries, class F, class Given = body_result_t<F, Guard>>
using body_outcome_t =
    std::conditional_t<!tries, Given,
                       std::conditional_t<std::is_void_v<Given>, bool, std::optional<Given>>>;

template <class... Results>
struct operation_of_body {
    using signature = void(std::exception_ptr, Results...);
    using pointer = operation_ptr<std::exception_ptr, Results...>;
    using values = std::tuple<Results...>;
    template <class Handler>
    using of = operation_of<Handler, std::exception_ptr, Results...>;
};
template <class Outcome>
using body_operation =
    std::conditional_t<std::is_void_v<Outcome>, operation_of_body<>, operation_of_body<Outcome>>;

// One execution, with its body.
template <class Lock, bool tries, class F>
class supervised_body final : public supervised_lock<Lock> {
    using guard = typename Lock::guard_type;
    using result = body_outcome_t<guard, tries, F>;
    using pointer = typename body_operation<result>::pointer;
    using values = typename body_operation<result>::values;

public:
    supervised_body(const asio::any_io_executor& executor, Lock lock, deadline until, F body,
                    pointer op)
        : supervised_lock<Lock>{executor, std::move(lock), until}, body_{std::move(body)},
          op_{std::move(op)}
    {
    }

private:
    void run_body(const asio::any_io_executor& strand, asio::cancellation_slot stopping,
                  const guard& held) override
    {
        auto self = std::static_pointer_cast<supervised_body>(this->shared_from_this());
        asio::co_spawn(strand, execute(self, held),
                       asio::bind_executor(
                           strand, asio::bind_cancellation_slot(
                                       stopping, [self](std::exception_ptr e, auto&&... given) {
                                           self->given_.emplace(std::move(given)...);
                                           self->ended(std::move(e));
                                       })));
    }

    static asio::awaitable<result> execute(std::shared_ptr<supervised_body> self, const guard& held)
    {
        if constexpr (!is_awaitable<std::invoke_result_t<F&, const guard&>>) {
            // An operation decides by itself what it does at each type; a coroutine says what it wants to hear of.
            co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
        }
        if constexpr (std::is_void_v<body_result_t<F, guard>> && tries) {
            co_await awaitable_of((*self->body_)(held));
            co_return true;
        } else {
            co_return co_await awaitable_of((*self->body_)(held));
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

    void drop_body() noexcept override { body_.reset(); }

    void complete(std::exception_ptr e, const error_code& ec, const std::string& why) override
    {
        body_.reset();
        if (ec) {
            op_->explain(ec, why);
        } else {
            op_->tell(why);
        }
        std::apply(
            [&](auto&&... given) {
                std::exchange(op_, {}).complete(std::move(e), std::move(given)...);
            },
            given_ ? std::move(*given_) : values{});
    }

    std::optional<F> body_; // it is gone when the operation completes
    std::optional<values> given_;
    pointer op_;
};

template <class Lock, bool tries>
class initiate_with_lock {
public:
    using executor_type = asio::any_io_executor;

    explicit initiate_with_lock(const Lock& lock) : lock_{lock} {}

    [[nodiscard]] executor_type get_executor() const noexcept { return lock_.get_executor(); }

    template <class Handler, class F, class Limit>
    void operator()(Handler&& handler, F&& body, Limit limit) const
    {
        const auto until = after(limit);
        using handler_type = std::decay_t<Handler>;
        using function = std::decay_t<F>;
        using types = body_operation<body_outcome_t<typename Lock::guard_type, tries, function>>;
        using supervisor = supervised_body<Lock, tries, function>;

        auto executor = executor_of(asio::get_associated_executor(handler, get_executor()));
        auto slot = asio::get_associated_cancellation_slot(handler);
        typename types::pointer op{types::template of<handler_type>::make(
            handler_type{std::forward<Handler>(handler)}, get_executor(), nullptr)};
        const std::shared_ptr<supervised_lock<Lock>> running = std::make_shared<supervisor>(
            executor, lock_, until, std::forward<F>(body), std::move(op));
        if (slot.is_connected()) { // in place of the operation's own way to the client's strand
            slot.assign([weak = std::weak_ptr{running}](asio::cancellation_type type) {
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

// What asio::append has added follows the tuple.
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

// Of operations that complete with a std::exception_ptr. Asio 1.81 rethrows that of a success in a yield_context, too, which
// is null.
template <class CompletionToken, class Signature, class Initiation, class... Args>
auto start_throwing(Initiation&& initiation, CompletionToken&& token, Args&&... args)
{
    if constexpr (is_yield<std::decay_t<CompletionToken>>) {
        // A copy of a const token: of others, some adapters of Asio would take the copy for a token to adapt.
        auto as_tuple = asio::as_tuple(std::decay_t<CompletionToken>(std::as_const(token)));
        auto results = start_operation<decltype(as_tuple), Signature>(
            std::forward<Initiation>(initiation), as_tuple, std::forward<Args>(args)...);
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
        return start_operation<CompletionToken, Signature>(std::forward<Initiation>(initiation),
                                                           token, std::forward<Args>(args)...);
    }
}

// The operation of every async_with_lock, and of every async_try_with_lock.
template <bool tries, lock_with_bodies Lock, class F, class Limit, class CompletionToken>
auto with_lock(const Lock& lock, F&& body, Limit limit, CompletionToken&& token)
{
    static_assert(checked_body<typename Lock::guard_type, tries, F, CompletionToken>::value);
    using types = body_operation<body_outcome_t<typename Lock::guard_type, tries, std::decay_t<F>>>;
    return start_throwing<CompletionToken, typename types::signature>(
        initiate_with_lock<Lock, tries>{lock}, std::forward<CompletionToken>(token),
        std::forward<F>(body), limit);
}

} // namespace colock::detail

#endif
