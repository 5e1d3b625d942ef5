// A lambda that GCC 12 would destroy twice, and its refusal.
#ifndef COLOCK_DETAIL_TEMPORARY_BODY_HPP
#define COLOCK_DETAIL_TEMPORARY_BODY_HPP

#include <colock/diagnostics.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <type_traits>

namespace colock::detail {

namespace asio = boost::asio;

// Tokens of operations that are made to be awaited.
template <class Token>
inline constexpr bool is_awaited = false;
template <>
inline constexpr bool is_awaited<asio::deferred_t> = true;
template <class Executor>
inline constexpr bool is_awaited<asio::use_awaitable_t<Executor>> = true;
template <class Token>
inline constexpr bool is_awaited<asio::as_tuple_t<Token>> = is_awaited<Token>;
template <class Token>
inline constexpr bool is_awaited<asio::redirect_error_t<Token>> = is_awaited<Token>;
template <class Token, class Slot>
inline constexpr bool is_awaited<asio::cancellation_slot_binder<Token, Slot>> = is_awaited<Token>;
template <class Token, class Executor>
inline constexpr bool is_awaited<asio::executor_binder<Token, Executor>> = is_awaited<Token>;
template <class Token, class Allocator>
inline constexpr bool is_awaited<asio::allocator_binder<Token, Allocator>> = is_awaited<Token>;
template <class Token>
inline constexpr bool is_awaited<diagnostics_binder<Token>> = is_awaited<Token>;

// GCC 12 keeps a lambda of a co_await expression in the coroutine's frame: it copies the bytes of the lambda, and
// then destroys the copy and the original. The type tells which lambdas are in danger: an object with a name comes
// as an lvalue, a lambda with captures cannot be assigned, and a trivial destructor does no harm twice.
// F is what a forwarding reference deduces.
template <class F, class Token>
inline constexpr bool destroyed_twice =
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
    !std::is_reference_v<F> && !std::is_trivially_destructible_v<F> &&
    !std::is_move_assignable_v<F> && is_awaited<std::decay_t<Token>>;
#else
    false;
#endif

} // namespace colock::detail

#endif
