// A body that GCC 12 would destroy twice, and its refusal.
#ifndef COLOCK_DETAIL_TEMPORARY_BODY_HPP
#define COLOCK_DETAIL_TEMPORARY_BODY_HPP

#include <boost/asio/deferred.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <type_traits>

namespace colock::detail {

namespace asio = boost::asio;

// Tokens of operations that are made to be awaited, also within adapters such as asio::bind_executor.
template <class Token>
inline constexpr bool is_awaited = false;
template <template <class, class...> class Adapter, class Token, class... More>
inline constexpr bool is_awaited<Adapter<Token, More...>> = is_awaited<Token>;
template <>
inline constexpr bool is_awaited<asio::deferred_t> = true;
template <class Executor>
inline constexpr bool is_awaited<asio::use_awaitable_t<Executor>> = true;

// GCC 12 keeps a lambda of a co_await expression in the coroutine's frame: it copies the bytes of the lambda, and
// then destroys the copy and the original. The type tells which bodies are in danger: an object with a name comes
// as an lvalue, and a trivial destructor does no harm twice. Anything else may be a lambda, or be made of one: nobody sees what
// a std::function, or the result of std::bind_front, is made of. F is what a forwarding reference deduces.
template <class F, class Token>
inline constexpr bool destroyed_twice =
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
    !std::is_reference_v<F> && !std::is_trivially_destructible_v<F> &&
    is_awaited<std::decay_t<Token>>;
#else
    false;
#endif

} // namespace colock::detail

#endif
