// The strand of a client, and what waits on it.
#pragma once

#include "zk/process.hpp"
#include "zk/recycled.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution/allocator.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>

#include <chrono>
#include <concepts>
#include <utility>

namespace colock::zk {

namespace asio = boost::asio;

// The user's executor, beneath a strand. The strand asks at every step whether it may run things at once, and a
// type-erased executor answers that with an allocation (Boost 1.81). Here it is asked once. It counts no outstanding
// work: what runs on the strand is work of its own to the context, and so is each operation of a user.
class strand_base {
public:
    // A constrained template, so that copying a strand_base never considers this constructor. Clang otherwise asks
    // whether a strand_base converts to any_io_executor, and that asks whether a strand_base can be copied.
    template <std::same_as<asio::any_io_executor> Executor>
    explicit strand_base(Executor executor)
        : executor_{std::move(executor)}, blocking_{
                                              asio::query(executor_, asio::execution::blocking)}
    {
    }

    // In a forked child nothing runs on an inherited strand: not what was queued before the fork, nor what the child's
    // copies of timers and sockets complete.
    template <class Function>
    void execute(Function&& function) const
    {
        if (!owner_.is_another()) {
            executor_.execute(std::forward<Function>(function));
        }
    }

    [[nodiscard]] asio::execution_context& query(asio::execution::context_t) const noexcept
    {
        return asio::query(executor_, asio::execution::context);
    }
    // For functions on their way through the strand. Asio keeps two blocks of memory for what is on its way, which these
    // would take from the operations of the user.
    [[nodiscard]] detail::recycling_allocator<void>
    query(asio::execution::allocator_t<void>) const noexcept
    {
        return {};
    }
    [[nodiscard]] asio::execution::blocking_t query(asio::execution::blocking_t) const noexcept
    {
        return blocking_;
    }
    [[nodiscard]] strand_base require(asio::execution::blocking_t::never_t never) const
    {
        return {asio::require(executor_, never), never, owner_};
    }
    [[nodiscard]] strand_base require(asio::execution::blocking_t::possibly_t possibly) const
    {
        if (blocking_ == possibly) {
            return *this;
        }
        asio::any_io_executor preferred = asio::prefer(executor_, possibly);
        const auto blocking = asio::query(preferred, asio::execution::blocking);
        return {std::move(preferred), blocking, owner_};
    }

    friend bool operator==(const strand_base& a, const strand_base& b) noexcept
    {
        return a.executor_ == b.executor_;
    }

private:
    strand_base(asio::any_io_executor executor, asio::execution::blocking_t blocking,
                const owning_process& owner) noexcept
        : executor_{std::move(executor)}, blocking_{blocking}, owner_{owner}
    {
    }

    asio::any_io_executor executor_;
    asio::execution::blocking_t blocking_;
    owning_process owner_;
};

using strand_type = asio::strand<strand_base>;

// Not those of a type-erased executor, which allocate it anew at each wait.
using timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                         asio::wait_traits<std::chrono::steady_clock>, strand_type>;
using stream = asio::posix::basic_stream_descriptor<strand_type>;

} // namespace colock::zk
