// The one initiation of all asynchronous functions.
#ifndef COLOCK_DETAIL_INITIATE_HPP
#define COLOCK_DETAIL_INITIATE_HPP

#include <colock/detail/operation.hpp>
#include <colock/detail/start_operation.hpp>

#include <boost/asio/deferred.hpp>

namespace colock::detail {

// The client's executor; without a client the system executor, which has threads of its own.
[[nodiscard]] COLOCK_DECL const asio::any_io_executor&
executor_of(const std::shared_ptr<client_core>& core) noexcept;

// Whether the client belongs to another process, of which this one is a forked child; false without a client.
[[nodiscard]] COLOCK_DECL bool is_inherited(const std::shared_ptr<client_core>& core) noexcept;

template <class... Results>
void complete_inherited(operation_ptr<error_code, Results...> op)
{
    op.complete(errc::forked, Results{}...);
}

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
        operation_ptr<Results...> op{operation_of<handler_type, Results...>::make(
            handler_type{std::forward<Handler>(handler)}, executor_of(core_), core_)};
        if (is_inherited(core_)) {
            complete_inherited(std::move(op));
        } else {
            start(core_, std::move(op), std::forward<Args>(args)...);
        }
    }

private:
    std::shared_ptr<client_core> core_;
};

// What every function does that a compiled one carries out: the operation of `begin` says which signature it has.
template <class CompletionToken, class... Results, class... Parameters, class... Args>
decltype(auto)
start(std::shared_ptr<client_core> core, std::remove_reference_t<CompletionToken>& token,
      void (*begin)(const std::shared_ptr<client_core>&, operation_ptr<Results...>, Parameters...),
      Args&&... args)
{
    return start_operation<CompletionToken, void(Results...)>(
        initiate<Results...>{std::move(core)}, token, begin, std::forward<Args>(args)...);
}

} // namespace colock::detail

#endif
