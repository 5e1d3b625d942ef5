// A latch among processes.
#ifndef COLOCK_LATCH_HPP
#define COLOCK_LATCH_HPP

#include <colock/client.hpp>
#include <colock/detail/gathering_place.hpp>
#include <colock/detail/initiate.hpp>

#include <cstdint>
#include <string>

namespace colock {

/// A latch among all processes that use the same path of the same ensemble: it opens when `count` of them have arrived, and
/// stays open. As `std::latch`.
///
/// ```cpp
/// colock::latch ready{zk, "/latches/run-417", 8};
/// co_await ready.async_arrive_and_wait(); // all eight are ready
/// ```
///
/// Nobody sets it: whoever comes first creates its nodes. They stay when it is open, which is how it is known, so use another
/// path for the next run, and delete the directory of one that nobody needs.
///
/// **Who dies**: one that waits in `async_arrive_and_wait` counts as long as its session lives. If it dies before the latch
/// opens, it is counted out: the others wait until it, or another one in its place, arrives. When a session expires whose
/// process lives, it arrives again by itself. What `async_count_down` has counted stays counted, whatever becomes of the process.
/// docs/rendezvous.md has the other cases.
///
/// **What is guaranteed**: the latch opens in one transaction with `count` arrivals, of which each is there at that moment,
/// unless an operator creates or deletes nodes. An arrival is counted once, also when its answer was lost.
///
/// **Errors** of all functions:
///  - `errc::invalid_path`, `errc::invalid_option`: correct what the diagnostics name (`bind_diagnostics`).
///  - `errc::conflicting_maximum`: others have another `count` there. Use another path, or their count.
///  - `zookeeper_errc::no_auth`: those that only look need READ for the directory, others CREATE and DELETE, too.
///  - `errc::session_full`: the session has too many nodes. `errc::request_too_large`: the path is too long, or many more
///    have arrived than `count` says.
///  - others of `client::async_children` and `client::async_create`, such as `errc::not_connected` and
///    `errc::client_closed`.
///  - `operation_aborted`: cancelled, or the client was destroyed.
///
/// While there is no connection they wait for one.
///
/// **Executor**: a handler runs on its associated executor, by default the client's; never within the function that
/// starts the operation.
///
/// **Thread safety**: all functions of one object may be called from several threads at once, except assigning and
/// destroying it.
///
/// **Lifetime**: an object is a handle; one that was moved from may only be assigned or destroyed. Making it does no
/// I/O and does not throw for a bad path. It may be destroyed while its operations are under way; they continue.
class COLOCK_DECL latch {
public:
    using executor_type = boost::asio::any_io_executor;

    /// The latch at `path`, for `count` arrivals, from 1 to 1,000.
    latch(client& zk, std::string path, std::uint32_t count);

    /// The executor of the client.
    [[nodiscard]] executor_type get_executor() const noexcept;
    /// The path of the constructor.
    [[nodiscard]] const std::string& path() const noexcept { return place_.path; }

    /// Arrives, and waits until the latch is open. At completion it is open.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors: those of the class.
    /// Cancellation: the arrival is taken back, unless the latch is open by then. Terminal, partial: completes at
    /// once. Total: completes when no trace is left.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_arrive_and_wait(CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(place_.core, token, &start_part, place_,
                                              detail::gathering_role::arrive);
    }

    /// Arrives, and does not wait. At completion the arrival is counted, or the latch is open already.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors: those of the class. It may have been counted all the same.
    /// Cancellation: it may have been counted. Terminal, partial: completes at once. Total: when that is settled.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_count_down(CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(place_.core, token, &start_part, place_,
                                              detail::gathering_role::count_down);
    }

    /// Waits until the latch is open, and does not arrive. At completion it is open. Waiting costs no request. Where nobody has
    /// come yet it creates the latch, as the others do, and needs CREATE for that.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors: those of the class.
    /// Cancellation: terminal, partial, total: completes at once, and removes the watch.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_wait(CompletionToken&& token = CompletionToken()) const
    {
        return detail::start<CompletionToken>(place_.core, token, &start_part, place_,
                                              detail::gathering_role::wait);
    }

    /// Asks whether the latch is open. One read, which may lag a little.
    ///
    /// Completion signature: `void(error_code, bool open)`.
    /// Errors: those of the class.
    /// Cancellation: terminal, partial, total: completes at once.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_try_wait(CompletionToken&& token = CompletionToken()) const
    {
        return detail::start<CompletionToken>(place_.core, token, &start_try_wait, place_);
    }

private:
    static void start_part(const std::shared_ptr<detail::client_core>&,
                           detail::operation_ptr<error_code> op, detail::gathering_place place,
                           detail::gathering_role what);
    static void start_try_wait(const std::shared_ptr<detail::client_core>&,
                               detail::operation_ptr<error_code, bool> op,
                               detail::gathering_place place);

    detail::gathering_place place_;
};

} // namespace colock

#endif
