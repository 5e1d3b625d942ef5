// Operations that wait for one thing, which all of them are told.
#pragma once

#include <colock/detail/operation.hpp>
#include <colock/error.hpp>

#include <boost/asio/error.hpp>

#include <cstdint>
#include <list>
#include <string>
#include <utility>

namespace colock::detail {

// On the strand. An operation that is cancelled waits no longer.
template <class... Results>
class waiting_list {
public:
    void add(operation_ptr<error_code, Results...> op)
    {
        add(
            std::move(op), [] {}, Results{}...);
    }
    // One that is cancelled has the results `aborted`. Then `left` is called.
    template <class Left>
    void add(operation_ptr<error_code, Results...> op, Left left, Results... aborted)
    {
        const auto at = waiting_.insert(waiting_.end(), std::move(op));
        if (const auto& link = at->cancellation()) {
            link->bind([this, at, left, aborted...](asio::cancellation_type) {
                take(at).complete(asio::error::operation_aborted, aborted...);
                left();
            });
        }
    }

    [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }

    void complete_all(const error_code& ec, const Results&... results)
    {
        for (auto& op : std::exchange(waiting_, {})) {
            op.complete(ec, results...);
        }
    }

    // `why`: the error in words.
    void complete_all(const error_code& ec,
                      const std::string& why) requires(sizeof...(Results) == 0)
    {
        for (const auto& op : waiting_) {
            op->explain(ec, why);
        }
        complete_all(ec);
    }

    // Those that were given this tag before they were added.
    void complete_tagged(std::uint64_t tag, const error_code& ec, const Results&... results)
    {
        complete_between(tag, tag, ec, results...);
    }

    void complete_between(std::uint64_t first, std::uint64_t last, const error_code& ec,
                          const Results&... results)
    {
        for (auto at = waiting_.begin(); at != waiting_.end();) {
            const auto here = at++;
            if (first <= (*here)->tag && (*here)->tag <= last) {
                take(here).complete(ec, results...);
            }
        }
    }

    // Destroys them, without a word.
    void discard() noexcept { const auto discarded = std::move(waiting_); }

private:
    using operations = std::list<operation_ptr<error_code, Results...>>;

    operation_ptr<error_code, Results...> take(typename operations::iterator at)
    {
        auto op = std::move(*at);
        waiting_.erase(at);
        return op;
    }

    operations waiting_;
};

} // namespace colock::detail
