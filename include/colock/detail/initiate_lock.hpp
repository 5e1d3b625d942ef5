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
#include <optional>
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
    [[nodiscard]] const lock_options& options() const noexcept;
    // Else lock_options::max_hold is refused.
    void serve_body() noexcept { for_body_ = true; }
    void start(operation_ptr<error_code, unique_lock> op, deadline until) const;
    // From the exclusive lock that the caller holds to a shared one.
    void downgrade(operation_ptr<error_code, unique_lock> op, unique_lock from) const;

private:
    void start_for_owner(operation_ptr<error_code, unique_lock> op, deadline until) const;

    std::shared_ptr<const lock_path> path_;
    std::shared_ptr<owner_state>
        owner_; // of a recursive_mutex: the caller may hold the lock already
    mode mode_;
    bool for_body_ = false;
};

// A handler for a guard of another kind. In all other respects it equals the original handler.
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

    template <class Handler, class Limit>
    void operator()(Handler&& handler, Limit limit) const
    {
        what_.start(operation_for(std::forward<Handler>(handler)), after(limit));
    }
    template <class Handler>
    void operator()(Handler&& handler, unique_lock from) const
    {
        what_.downgrade(operation_for(std::forward<Handler>(handler)), std::move(from));
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

// A lock with bodies; see supervised_lock.hpp.
template <class Guard>
class lockable {
public:
    using guard_type = Guard;

    explicit lockable(std::shared_ptr<const lock_path> path,
                      std::shared_ptr<owner_state> owner = nullptr) noexcept
        : what_{std::move(path), mode, std::move(owner)}
    {
    }

    [[nodiscard]] const asio::any_io_executor& get_executor() const noexcept
    {
        return what_.executor();
    }
    [[nodiscard]] std::chrono::milliseconds body_grace() const noexcept
    {
        return what_.options().body_grace;
    }
    [[nodiscard]] std::optional<std::chrono::milliseconds> max_hold() const noexcept
    {
        return what_.options().max_hold;
    }
    template <class Visit>
    void each_revocable(const held_lock& held, Visit visit) const
    {
        if (what_.options().cancel_when_revoked) {
            visit(held);
        }
    }
    // Until a deadline; for a duration from the initiation on; or from the exclusive lock.
    // The token is forwarded as the user has passed it: a handler that is an lvalue is copied.
    template <class Limit, class CompletionToken>
    auto async_lock(Limit limit, CompletionToken&& token) &&
    {
        return start_operation<CompletionToken, void(error_code, Guard)>(
            initiate_lock<Guard>{std::move(what_)}, token, std::move(limit));
    }
    template <class CompletionToken>
    auto async_lock_for_body(deadline until, CompletionToken&& token) &&
    {
        what_.serve_body();
        return std::move(*this).async_lock(until, std::forward<CompletionToken>(token));
    }

private:
    static constexpr auto mode = std::is_same_v<Guard, shared_lock>
                                     ? acquire_request::mode::shared
                                     : acquire_request::mode::exclusive;

    acquire_request what_;
};

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
