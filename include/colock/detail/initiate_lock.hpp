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

// As initiate; but it holds one thing only, for locks within a process are passed on in less time than it takes
// to count some references.
class COLOCK_DECL initiate_lock {
public:
    using executor_type = asio::any_io_executor;

    explicit initiate_lock(std::shared_ptr<const lock_path> path) noexcept : path_{std::move(path)}
    {
    }

    [[nodiscard]] executor_type get_executor() const noexcept { return executor(); }

    template <class Handler>
    void operator()(Handler&& handler, deadline until) const
    {
        using handler_type = std::decay_t<Handler>;
        start(
            operation_ptr<error_code, unique_lock>{
                operation_of<handler_type, error_code, unique_lock>::make(
                    handler_type{std::forward<Handler>(handler)}, executor(), core())},
            until);
    }
    // From the initiation on.
    template <class Handler, class Rep, class Period>
    void operator()(Handler&& handler, std::chrono::duration<Rep, Period> limit) const
    {
        (*this)(std::forward<Handler>(handler), after(limit));
    }

private:
    [[nodiscard]] const asio::any_io_executor& executor() const noexcept;
    [[nodiscard]] const std::shared_ptr<client_core>& core() const noexcept;
    void start(operation_ptr<error_code, unique_lock> op, deadline until) const;

    std::shared_ptr<const lock_path> path_;
};

} // namespace colock::detail

#endif
