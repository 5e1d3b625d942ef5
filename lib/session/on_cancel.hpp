// The one rule of cancellation, for every kind of lock. A terminal or a partial request completes the operation at once;
// what it left on the servers goes in the background. A total request completes it when nothing is left.
#pragma once

#include <colock/detail/operation.hpp>

#include <utility>

namespace colock::detail {

// On the strand. `total` may leave the operation as it is, where its end means that nothing is left. A total request
// does not exclude a terminal one later.
template <class... Results, class Abandon, class Total>
void on_cancel(const operation_ptr<error_code, Results...>& op, Abandon&& abandon, Total&& total)
{
    if (const auto& link = op.cancellation()) {
        link->bind([abandon = std::forward<Abandon>(abandon), total = std::forward<Total>(total)](
                       asio::cancellation_type type) { ends_at_once(type) ? abandon() : total(); });
    }
}

template <class... Results, class Abandon>
void on_cancel(const operation_ptr<error_code, Results...>& op, Abandon&& abandon)
{
    on_cancel(op, std::forward<Abandon>(abandon), [] {});
}

} // namespace colock::detail
