// The initiation of every acquisition.
#ifndef COLOCK_DETAIL_INITIATE_LOCK_HPP
#define COLOCK_DETAIL_INITIATE_LOCK_HPP

#include <colock/detail/deadline.hpp>
#include <colock/detail/operation.hpp>
#include <colock/unique_lock.hpp>

#include <chrono>
#include <memory>
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

// As initiate; but it holds as little as possible, for locks within a process are passed on in less time than
// it takes to count some references.
template <class Target>
class initiate_lock {
public:
    using executor_type = asio::any_io_executor;

    explicit initiate_lock(Target target) noexcept : target_{std::move(target)} {}

    [[nodiscard]] executor_type get_executor() const noexcept { return target_.executor(); }

    template <class Handler>
    void operator()(Handler&& handler, deadline until) const
    {
        using handler_type = std::decay_t<Handler>;
        target_.start(
            operation_ptr<error_code, unique_lock>{
                operation_of<handler_type, error_code, unique_lock>::make(
                    handler_type{std::forward<Handler>(handler)}, target_.executor(),
                    target_.core())},
            until);
    }
    // From the initiation on.
    template <class Handler, class Rep, class Period>
    void operator()(Handler&& handler, std::chrono::duration<Rep, Period> limit) const
    {
        (*this)(std::forward<Handler>(handler), after(limit));
    }

private:
    Target target_;
};

} // namespace colock::detail

#endif
