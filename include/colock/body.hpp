// Bodies of async_with_lock, for those who write functions around it.
#ifndef COLOCK_BODY_HPP
#define COLOCK_BODY_HPP

#include <colock/detail/abi.hpp>
#include <colock/detail/temporary_body.hpp>

#include <boost/asio/deferred.hpp>

namespace colock {

/// Whether `async_with_lock` and its kind take this body with this token. They refuse what GCC 12 may destroy twice: within a
/// `co_await` expression, a body that has no name, and whose type has a destructor that does something. `F` is what a
/// forwarding reference deduces. With other compilers it is always true.
///
/// A function of your own that takes a body, and passes it on under a name, hides from colock where the body comes from.
/// Let it check itself:
///
/// ```cpp
/// template <class F>
/// asio::awaitable<void> with_orders(colock::mutex& orders, F&& body)
/// {
///     static_assert(colock::safe_body<F>, "capture by reference, or give the body a name");
///     co_await orders.async_with_lock(body);
/// }
/// ```
///
/// One that forwards the body (`std::forward<F>(body)`) need not.
template <class F, class CompletionToken = boost::asio::deferred_t>
inline constexpr bool safe_body = !detail::destroyed_twice<F, CompletionToken>;

} // namespace colock

#endif
