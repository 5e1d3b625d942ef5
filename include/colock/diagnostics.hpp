// What an operation that failed was about, in words.
#ifndef COLOCK_DIAGNOSTICS_HPP
#define COLOCK_DIAGNOSTICS_HPP

#include <colock/detail/abi.hpp>

#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <string>
#include <type_traits>
#include <utility>

namespace colock {

namespace detail {

struct subject_of_diagnostics;

} // namespace detail

/// Receives the description of a failure: the path or the host that it concerns, and its cause. An error code cannot name
/// them, and `client::last_error_detail()` describes the client's last failure, which may be another one.
///
/// ```cpp
/// colock::diagnostics why;
/// const auto [ec, held] = co_await m.async_lock(
///     colock::bind_diagnostics(why, asio::as_tuple(asio::use_awaitable)));
/// if (ec) {
///     std::cerr << why.message() << '\n'; // lock /locks/greetings: the client is not connected; ...
/// }
/// ```
///
/// **Thread safety**: one object serves one operation at a time. It is written before the operation's handler is
/// invoked, and may be read from then on.
class diagnostics {
public:
    /// What has failed, and why; of a try that did not get its lock, who has it; of a wait
    /// for a loss, the loss. Else empty.
    [[nodiscard]] const std::string& message() const noexcept { return message_; }

    /// Replaces the message. The operation calls it before its handler runs.
    void assign(std::string message) noexcept { message_ = std::move(message); }
    /// Makes the message empty. The operation calls it when it begins.
    void clear() noexcept
    {
        message_.clear();
        subject_.clear();
    }

private:
    friend struct detail::subject_of_diagnostics;

    std::string message_;
    std::string subject_; // what the operation is about, such as "lock /path"
};

/// A completion token, or a handler, with the diagnostics of its operation. See `bind_diagnostics`.
template <class T>
class diagnostics_binder {
public:
    /// A binder of `target` that writes to `to`.
    template <class U>
    diagnostics_binder(diagnostics& to, U&& target)
        : diagnostics_{&to}, target_(std::forward<U>(target))
    {
    }

    /// The diagnostics that receive the description.
    [[nodiscard]] diagnostics* get_diagnostics() const noexcept { return diagnostics_; }
    /// The token or handler itself.
    [[nodiscard]] T& get() noexcept { return target_; }
    /// The token or handler itself.
    [[nodiscard]] const T& get() const noexcept { return target_; }

    /// Invokes the handler.
    template <class... Args>
    auto operator()(Args&&... args) &&
    {
        return std::move(target_)(std::forward<Args>(args)...);
    }
    /// Invokes the handler.
    template <class... Args>
    auto operator()(Args&&... args) &
    {
        return target_(std::forward<Args>(args)...);
    }

private:
    diagnostics* diagnostics_;
    T target_;
};

/// Adapts a completion token, so that the operation writes the description of its failure into `to`. Operations of
/// colock do, others ignore it. `to` is cleared when the operation begins, and has to live until the handler is invoked.
///
/// As an associated characteristic of the handler it passes through `as_tuple`, `redirect_error`, `bind_executor`
/// and their kind, whichever is the outer one. An operation without a description of its own gives that of the
/// error code; a cancelled one gives none.
template <class CompletionToken = boost::asio::deferred_t>
[[nodiscard]] auto bind_diagnostics(diagnostics& to, CompletionToken&& token = CompletionToken())
{
    return diagnostics_binder<std::decay_t<CompletionToken>>{to,
                                                             std::forward<CompletionToken>(token)};
}

/// Finds the diagnostics of a handler; a null pointer when it has none.
template <class T, class Default = diagnostics*>
struct associated_diagnostics {
    /// What `get` returns.
    using type = diagnostics*;

    /// The diagnostics of `t`; `none` when it has none.
    static type get(const T& t, const Default& none = nullptr) noexcept
    {
        if constexpr (requires {
                          typename boost::asio::associator<colock::associated_diagnostics, T,
                                                           Default>::type;
                      }) {
            return boost::asio::associator<colock::associated_diagnostics, T, Default>::get(t,
                                                                                            none);
        } else {
            return none;
        }
    }
};
template <class T, class Default>
struct associated_diagnostics<diagnostics_binder<T>, Default> {
    using type = diagnostics*;

    static type get(const diagnostics_binder<T>& b, const Default& = nullptr) noexcept
    {
        return b.get_diagnostics();
    }
};

namespace detail {

// For operations that have no words of their own but those of a code.
struct subject_of_diagnostics {
    [[nodiscard]] static std::string& of(diagnostics& d) noexcept { return d.subject_; }
};

// Up to Boost 1.81, adapters ask for this type.
template <class Result>
struct return_type_of {
};
template <class Result>
    requires requires
    {
        typename Result::return_type;
    }
struct return_type_of<Result> {
    using return_type = typename Result::return_type;
};

// Starts the operation with a handler that has the diagnostics.
template <class Initiation>
struct diagnosed_initiation {
    Initiation initiation;
    diagnostics* to;

    // What tokens ask an initiation for.
    template <class I = Initiation>
    auto get_executor() const noexcept -> decltype(std::declval<const I&>().get_executor())
    {
        return initiation.get_executor();
    }

    template <class Handler, class... Args>
    void operator()(Handler&& handler, Args&&... args) &&
    {
        std::move(initiation)(
            diagnostics_binder<std::decay_t<Handler>>{*to, std::forward<Handler>(handler)},
            std::forward<Args>(args)...);
    }
    template <class Handler, class... Args>
    void operator()(Handler&& handler, Args&&... args) const&
    {
        initiation(diagnostics_binder<std::decay_t<Handler>>{*to, std::forward<Handler>(handler)},
                   std::forward<Args>(args)...);
    }
};

} // namespace detail

} // namespace colock

template <template <class, class> class Associator, class T, class Default>
    requires(!std::is_same_v<Associator<T, Default>, colock::associated_diagnostics<T, Default>>)
struct boost::asio::associator<Associator, colock::diagnostics_binder<T>, Default>
    : Associator<T, Default> {
    static auto get(const colock::diagnostics_binder<T>& b,
                    const Default& none = Default()) noexcept
    {
        return Associator<T, Default>::get(b.get(), none);
    }
};

template <class T, class Signature>
struct boost::asio::async_result<colock::diagnostics_binder<T>, Signature>
    : colock::detail::return_type_of<boost::asio::async_result<T, Signature>> {
    template <class Initiation, class Token, class... Args>
    static auto initiate(Initiation&& initiation, Token&& token, Args&&... args)
    {
        // A token that is an lvalue is copied, and may be used again.
        using inner =
            std::conditional_t<std::is_lvalue_reference_v<Token>, decltype(token.get()), T>;
        return boost::asio::async_initiate<inner, Signature>(
            colock::detail::diagnosed_initiation<std::decay_t<Initiation>>{
                std::forward<Initiation>(initiation), token.get_diagnostics()},
            token.get(), std::forward<Args>(args)...);
    }
};

#endif
