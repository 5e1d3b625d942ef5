// What a store refuses when it has seen a greater token. docs/fencing.md has the statements for each store, and why.
#ifndef COLOCK_FENCE_FENCED_HPP
#define COLOCK_FENCE_FENCED_HPP

#include <colock/detail/temporary_body.hpp>
#include <colock/error.hpp>
#include <colock/fencing_token.hpp>
#include <colock/fwd.hpp>
#include <colock/node.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace colock {

/// What stores do with tokens, as text and small functions.
namespace fence {

/// Whether a store that has this token accepts the other one: equal and greater ones pass. No text is the token of a thing
/// that nobody has written yet. Text that is no token refuses all.
[[nodiscard]] inline bool accepts(std::string_view seen, const fencing_token& token) noexcept
{
    const auto known = fencing_token::parse(seen);
    return known ? *known <= token : seen.empty();
}

/// Of a transaction that `guarded()` has made, what its answer means: `errc::fenced` when a lock was lost, and so nothing
/// was carried out. Else the answer itself. `conditions`: how many locks and permits guard it.
[[nodiscard]] inline error_code code_of(const error_code& answer,
                                        const std::vector<transaction_result>& results,
                                        std::size_t conditions = 1)
{
    const auto steps =
        results.begin() + static_cast<std::ptrdiff_t>(std::min(conditions, results.size()));
    const bool lost = std::any_of(results.begin(), steps, [](const transaction_result& each) {
        return each.error == zookeeper_errc::no_node;
    });
    return lost ? errc::fenced : answer;
}

} // namespace fence

namespace detail {

// `auto`: with `bool`, clang would not show the user's line beside the message.
template <class Written>
auto is_accepted(const Written& written)
{
    if constexpr (std::is_integral_v<Written> && !std::is_same_v<Written, bool>) {
        // Drivers say -1 for "unknown", in an int or wider.
        return written > 0 &&
               (sizeof(Written) < sizeof(int) || written != static_cast<Written>(-1));
    } else {
        // Where others convert to true that may mean an error, or an optional that holds false.
        static_assert(
            std::is_same_v<Written, bool>,
            "return a bool, or how many rows were written as a number; libpq tells it as text");
        return static_cast<bool>(written);
    }
}

inline void require_accepted(bool accepted, const std::string& token)
{
    if (!accepted) {
        throw boost::system::system_error{errc::fenced, "token " + token};
    }
}

template <class Held>
concept token_holder =
    std::convertible_to<decltype(std::declval<const Held&>().token()), fencing_token>;

template <class Write>
concept token_writer = requires(std::decay_t<Write>& write, const std::string& token)
{
    write(token);
};

template <class Result>
concept later_result = requires
{
    typename Result::value_type;
    typename Result::executor_type;
};

template <class Result, class Write>
boost::asio::awaitable<void, typename Result::executor_type> write_fenced_later(std::string token,
                                                                                Write write)
{
    const bool accepted = is_accepted(co_await write(std::as_const(token)));
    require_accepted(accepted, token);
}

} // namespace detail

/// Calls `write` with the token of a held lock as text, 32 hexadecimal digits. `write` gives it to the store, and returns
/// whether the store has accepted it: a `bool`, or how many rows were written. -1, by which drivers say that they do not
/// know, is no acceptance, though the store may have written. Throws `boost::system::system_error` with `errc::fenced`
/// when not, and with `errc::not_held` when `held` holds nothing. A `shared_lock` does not compile: readers hold a lock
/// together, so a store that has seen the token of one may refuse that of another.
///
/// ```cpp
/// colock::fenced(held, [&](const std::string& token) {
///     return execute(colock::fence::postgresql::present, {held.path(), token});
/// });
/// ```
///
/// When `write` returns an awaitable, so does this function: `co_await` it. `write` is kept until that is done; what it
/// refers to has to live as long.
template <detail::token_holder Held, detail::token_writer Write>
auto fenced(const Held& held, Write&& write)
{
    static_assert(!std::is_same_v<Held, shared_lock>,
                  "readers hold a lock together: a store may refuse the token of one that has it");
    using result = std::invoke_result_t<std::decay_t<Write>&, const std::string&>;
    const fencing_token mine = held.token();
    if (mine == fencing_token{}) {
        throw boost::system::system_error{errc::not_held, "fenced"};
    }
    std::string token = to_string(mine);
    if constexpr (detail::later_result<result>) {
        static_assert(
            !detail::destroyed_twice<Write, boost::asio::use_awaitable_t<>>,
            "Within a co_await expression GCC 12 destroys twice what a lambda captures by value. "
            "Capture by reference, or give the function a name and pass that name");
        return detail::write_fenced_later<result>(std::move(token),
                                                  std::decay_t<Write>{std::forward<Write>(write)});
    } else if constexpr (std::is_void_v<result>) {
        static_assert(!std::is_void_v<result>,
                      "return whether the store has accepted the token: a bool, or how many rows "
                      "were written as a number");
    } else {
        detail::require_accepted(detail::is_accepted(write(std::as_const(token))), token);
    }
}

} // namespace colock

#endif
