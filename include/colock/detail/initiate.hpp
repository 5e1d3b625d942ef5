// The one initiation behind every asynchronous function.
#ifndef COLOCK_DETAIL_INITIATE_HPP
#define COLOCK_DETAIL_INITIATE_HPP

#include <colock/detail/operation.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

namespace colock::detail {

// That of the client; that of the system, which has threads of its own, without one.
[[nodiscard]] COLOCK_DECL const asio::any_io_executor&
executor_of(const std::shared_ptr<client_core>& core) noexcept;

// Erases the handler and hands it, with the arguments, to a compiled function. Nothing happens before
// the initiation runs; it has an executor, without which `cancel_after` would not compile.
template <class... Results>
class initiate {
public:
    using executor_type = asio::any_io_executor;

    explicit initiate(std::shared_ptr<client_core> core) : core_{std::move(core)} {}

    [[nodiscard]] executor_type get_executor() const noexcept { return executor_of(core_); }

    template <class Handler, class Start, class... Args>
    void operator()(Handler&& handler, Start start, Args&&... args) const
    {
        using handler_type = std::decay_t<Handler>;
        start(core_,
              operation_ptr<Results...>{operation_of<handler_type, Results...>::make(
                  handler_type{std::forward<Handler>(handler)}, executor_of(core_), core_)},
              std::forward<Args>(args)...);
    }

private:
    std::shared_ptr<client_core> core_;
};

} // namespace colock::detail

#endif
