// A token, waits, and whatever ends first, for the coroutines of the program.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace colock::cli {

// For an operation whose error the caller looks at: it comes as the first of a tuple, and nothing is thrown.
inline constexpr auto no_throw = boost::asio::as_tuple(boost::asio::use_awaitable);

[[nodiscard]] boost::asio::awaitable<void> pause(std::chrono::nanoseconds time);
[[nodiscard]] boost::asio::awaitable<void> pause_until(std::chrono::steady_clock::time_point when);
// Until it is cancelled.
[[nodiscard]] boost::asio::awaitable<void> wait_for_ever();

namespace detail {

// What a coroutine has given, or thrown.
template <class T>
struct ending {
    using value_type = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

    std::exception_ptr failed;
    std::optional<value_type> value;
};

template <class T>
boost::asio::awaitable<ending<T>> to_the_end(boost::asio::awaitable<T> body)
{
    ending<T> e;
    try {
        if constexpr (std::is_void_v<T>) {
            co_await std::move(body);
            e.value.emplace();
        } else {
            e.value = co_await std::move(body);
        }
    } catch (...) {
        e.failed = std::current_exception();
    }
    co_return e;
}

} // namespace detail

// The coroutine that ends first, by its place, with what it has given; or throws what it has thrown. The others are
// cancelled, and awaited. `a || b` of Asio's awaitable_operators waits for the first that succeeds instead, and drops the
// exceptions of those before it.
template <class... T>
boost::asio::awaitable<std::variant<typename detail::ending<T>::value_type...>>
first_of(boost::asio::awaitable<T>... all)
{
    using namespace boost::asio::experimental::awaitable_operators;
    using result = std::variant<typename detail::ending<T>::value_type...>;
    auto first = co_await (... || detail::to_the_end(std::move(all)));
    const auto place = std::make_index_sequence<sizeof...(T)>{};
    std::optional<result> given;
    [&]<std::size_t... each>(std::index_sequence<each...>)
    {
        const auto take = [&]<std::size_t one>(std::in_place_index_t<one> at) {
            if (first.index() != one) {
                return;
            }
            auto& end = std::get<one>(first);
            if (end.failed) {
                std::rethrow_exception(end.failed);
            }
            given.emplace(at, std::move(*end.value));
        };
        (take(std::in_place_index<each>), ...);
    }
    (place);
    co_return std::move(*given);
}

} // namespace colock::cli
