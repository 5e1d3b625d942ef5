// The initiation of every acquisition.
#ifndef COLOCK_DETAIL_INITIATE_LOCK_HPP
#define COLOCK_DETAIL_INITIATE_LOCK_HPP

#include <colock/detail/access.hpp>
#include <colock/detail/deadline.hpp>
#include <colock/detail/operation.hpp>
#include <colock/detail/start_operation.hpp>
#include <colock/detail/with_lock.hpp>
#include <colock/lock_options.hpp>
#include <colock/unique_lock.hpp>

#include <boost/asio/associator.hpp>

#include <chrono>
#include <memory>
#include <type_traits>
#include <utility>

namespace colock::detail {

// A request names the lock of a path, the mode, and the owner if it is recursive.
class COLOCK_DECL acquire_request {
public:
    enum class mode { exclusive, shared };

    acquire_request(std::shared_ptr<const lock_path> path, mode m = mode::exclusive,
                    std::shared_ptr<owner_state> owner = nullptr) noexcept
        : path_{std::move(path)}, owner_{std::move(owner)}, mode_{m}
    {
    }

    [[nodiscard]] const asio::any_io_executor& executor() const noexcept;
    [[nodiscard]] const std::shared_ptr<client_core>& core() const noexcept;
    [[nodiscard]] const lock_path& path() const noexcept { return *path_; }
    [[nodiscard]] const lock_options& options() const noexcept;
    void start(operation_ptr<error_code, unique_lock> op, deadline until) const;
    // From the exclusive lock that the caller holds to a shared one.
    void downgrade(operation_ptr<error_code, unique_lock> op, unique_lock from) const;

private:
    void start_for_owner(operation_ptr<error_code, unique_lock> op, deadline until) const;

    std::shared_ptr<const lock_path> path_;
    std::shared_ptr<owner_state>
        owner_; // of a recursive_mutex: the caller may hold the lock already
    mode mode_;
};

// A handler for a guard of another kind. It is in all else what that one is.
template <class Guard, class Handler>
class granting {
public:
    explicit granting(Handler&& handler) : handler_{std::move(handler)} {}

    void operator()(error_code ec, unique_lock held)
    {
        std::move(handler_)(
            ec, access::make<Guard>(std::move(access::core(held)), std::move(access::held(held))));
    }

    [[nodiscard]] const Handler& inner() const noexcept { return handler_; }

private:
    Handler handler_;
};

// As initiate; but it holds as little as possible: a lock is handed off in memory in less time than it takes to count
// some references.
template <class Guard>
class initiate_lock {
public:
    using executor_type = asio::any_io_executor;

    explicit initiate_lock(acquire_request what) noexcept : what_{std::move(what)} {}

    [[nodiscard]] executor_type get_executor() const noexcept { return what_.executor(); }

    template <class Handler>
    void operator()(Handler&& handler, deadline until) const
    {
        what_.start(operation_for(std::forward<Handler>(handler)), until);
    }
    template <class Handler>
    void operator()(Handler&& handler, unique_lock from) const
    {
        what_.downgrade(operation_for(std::forward<Handler>(handler)), std::move(from));
    }
    // From the initiation on.
    template <class Handler, class Rep, class Period>
    void operator()(Handler&& handler, std::chrono::duration<Rep, Period> limit) const
    {
        (*this)(std::forward<Handler>(handler), after(limit));
    }

private:
    template <class Handler>
    [[nodiscard]] operation_ptr<error_code, unique_lock> operation_for(Handler&& handler) const
    {
        using given = std::decay_t<Handler>;
        using handler_type =
            std::conditional_t<std::is_same_v<Guard, unique_lock>, given, granting<Guard, given>>;
        return operation_ptr<error_code, unique_lock>{
            operation_of<handler_type, error_code, unique_lock>::make(
                handler_type{given{std::forward<Handler>(handler)}}, what_.executor(),
                what_.core())};
    }

    acquire_request what_;
};

// Until a deadline; or for so long, from the initiation on; or from the exclusive lock.
// The token is forwarded as the user has passed it: a handler that is an lvalue is copied.
template <class Guard = unique_lock, class CompletionToken, class Limit>
auto acquire(acquire_request what, CompletionToken&& token, Limit limit)
{
    return start_operation<CompletionToken, void(error_code, Guard)>(
        initiate_lock<Guard>{std::move(what)}, token, std::move(limit));
}

// A lock with bodies; see supervised_lock.hpp.
template <class Guard>
class lockable {
public:
    using guard_type = Guard;

    explicit lockable(acquire_request what) noexcept : what_{std::move(what)} {}

    [[nodiscard]] const asio::any_io_executor& get_executor() const noexcept
    {
        return what_.executor();
    }
    [[nodiscard]] std::chrono::milliseconds body_grace() const noexcept
    {
        return what_.options().body_grace;
    }
    template <class Visit>
    void each_revocable(const held_lock& held, Visit visit) const
    {
        if (what_.options().cancel_when_revoked) {
            visit(held);
        }
    }
    template <class CompletionToken>
    auto async_lock(deadline until, CompletionToken&& token) const
    {
        return acquire<Guard>(what_, std::forward<CompletionToken>(token), until);
    }

private:
    acquire_request what_;
};

template <class Guard, class F, class CompletionToken>
auto with_lock(acquire_request what, F&& body, CompletionToken&& token)
{
    static_assert(checked_body<Guard, false, F, CompletionToken>::value);
    return run_with_lock<false>(lockable<Guard>{std::move(what)}, std::forward<F>(body), never,
                                std::forward<CompletionToken>(token));
}
template <class Guard, class F, class Limit, class CompletionToken>
auto try_with_lock(acquire_request what, F&& body, Limit limit, CompletionToken&& token)
{
    static_assert(checked_body<Guard, true, F, CompletionToken>::value);
    return run_with_lock<true>(lockable<Guard>{std::move(what)}, std::forward<F>(body), limit,
                               std::forward<CompletionToken>(token));
}

} // namespace colock::detail

template <template <class, class> class Associator, class Guard, class Handler,
          class DefaultCandidate>
struct boost::asio::associator<Associator, colock::detail::granting<Guard, Handler>,
                               DefaultCandidate> : Associator<Handler, DefaultCandidate> {
    static auto get(const colock::detail::granting<Guard, Handler>& h) noexcept
    {
        return Associator<Handler, DefaultCandidate>::get(h.inner());
    }
    static auto get(const colock::detail::granting<Guard, Handler>& h,
                    const DefaultCandidate& c) noexcept
    {
        return Associator<Handler, DefaultCandidate>::get(h.inner(), c);
    }
};

#endif
