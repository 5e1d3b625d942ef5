// The initiation of every acquisition.
#ifndef COLOCK_DETAIL_INITIATE_LOCK_HPP
#define COLOCK_DETAIL_INITIATE_LOCK_HPP

#include <colock/detail/deadline.hpp>
#include <colock/detail/operation.hpp>
#include <colock/unique_lock.hpp>

#include <boost/asio/associator.hpp>

#include <chrono>
#include <memory>
#include <type_traits>
#include <utility>

namespace colock::detail {

// What is to be locked: a path.
class COLOCK_DECL path_to_lock {
public:
    explicit path_to_lock(std::shared_ptr<const lock_path> path) noexcept : path_{std::move(path)}
    {
    }

    [[nodiscard]] const asio::any_io_executor& executor() const noexcept;
    [[nodiscard]] const std::shared_ptr<client_core>& core() const noexcept;
    void start(operation_ptr<error_code, unique_lock> op, deadline until) const;

private:
    std::shared_ptr<const lock_path> path_;
};

// The same, by one who may have it already.
class COLOCK_DECL path_to_lock_again {
public:
    path_to_lock_again(std::shared_ptr<const lock_path> path,
                       std::shared_ptr<owner_state> owner) noexcept
        : path_{std::move(path)}, owner_{std::move(owner)}
    {
    }

    [[nodiscard]] const asio::any_io_executor& executor() const noexcept;
    [[nodiscard]] const std::shared_ptr<client_core>& core() const noexcept;
    [[nodiscard]] const lock_options& options() const noexcept;
    void start(operation_ptr<error_code, unique_lock> op, deadline until) const;

private:
    std::shared_ptr<const lock_path> path_;
    std::shared_ptr<owner_state> owner_;
};

// The same, together with others.
class COLOCK_DECL path_to_share {
public:
    explicit path_to_share(std::shared_ptr<const lock_path> path) noexcept : path_{std::move(path)}
    {
    }

    [[nodiscard]] const asio::any_io_executor& executor() const noexcept;
    [[nodiscard]] const std::shared_ptr<client_core>& core() const noexcept;
    [[nodiscard]] const lock_options& options() const noexcept;
    void start(operation_ptr<error_code, unique_lock> op, deadline until) const;
    void downgrade(operation_ptr<error_code, unique_lock> op, unique_lock from) const;

private:
    std::shared_ptr<const lock_path> path_;
};

// A handler for a guard of another kind. It is in all else what that one is.
template <class Guard, class Handler>
class granting {
public:
    explicit granting(Handler&& handler) : handler_{std::move(handler)} {}

    void operator()(error_code ec, unique_lock held)
    {
        std::move(handler_)(ec, Guard{std::move(held)});
    }

    [[nodiscard]] const Handler& inner() const noexcept { return handler_; }

private:
    Handler handler_;
};

// As initiate; but it holds as little as possible, for locks within a process are passed on in less time than
// it takes to count some references.
template <class Target, class Guard = unique_lock>
class initiate_lock {
public:
    using executor_type = asio::any_io_executor;

    explicit initiate_lock(Target target) noexcept : target_{std::move(target)} {}

    [[nodiscard]] executor_type get_executor() const noexcept { return target_.executor(); }

    template <class Handler>
    void operator()(Handler&& handler, deadline until) const
    {
        target_.start(operation_for(std::forward<Handler>(handler)), until);
    }
    template <class Handler>
    void operator()(Handler&& handler, unique_lock from) const
    {
        target_.downgrade(operation_for(std::forward<Handler>(handler)), std::move(from));
    }
    template <class Handler>
    void operator()(Handler&& handler, errc refused) const
    {
        operation_for(std::forward<Handler>(handler)).complete(refused, {});
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
                handler_type{given{std::forward<Handler>(handler)}}, target_.executor(),
                target_.core())};
    }

    Target target_;
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
