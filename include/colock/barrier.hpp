// A barrier among processes.
#ifndef COLOCK_BARRIER_HPP
#define COLOCK_BARRIER_HPP

#include <colock/client.hpp>
#include <colock/detail/gathering_place.hpp>
#include <colock/detail/initiate.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

namespace colock {

/// A barrier among all processes that use the same path of the same ensemble: a phase is over when `count` of them have
/// arrived, and the next one begins. As `std::barrier`.
///
/// ```cpp
/// colock::barrier step{zk, "/barriers/simulation", 8};
/// for (auto phase = co_await step.async_phase(); phase < 1'000; ++phase) {
///     // ... the work of this phase
///     co_await step.async_arrive_and_wait(phase);
/// }
/// ```
///
/// **Who dies**: a process counts from its arrival until the phase is over, as long as its session lives. If it dies before, it is
/// counted out: the others wait until it, or another one in its place, has arrived. One that begins in the place of another asks
/// for the phase first, and names it when it arrives. When a session expires whose process lives, it arrives again by itself.
///
/// **What is guaranteed**: a phase ends in one transaction with `count` arrivals, of which each is there at that moment, and
/// nobody goes on before. Nobody is a phase ahead of the others, unless more than `count` take part, also one that has died
/// and whose session lives on, or an operator creates or deletes nodes. An arrival is counted once, also when its answer was lost.
///
/// Errors, executor, thread safety and lifetime are those of `latch`.
class COLOCK_DECL barrier {
public:
    using executor_type = boost::asio::any_io_executor;

    /// The barrier at `path`, for `count` arrivals in each phase, from 1 to 1,000.
    barrier(client& zk, std::string path, std::uint32_t count);

    /// The executor of the client.
    [[nodiscard]] executor_type get_executor() const noexcept;
    /// The path of the constructor.
    [[nodiscard]] const std::string& path() const noexcept { return place_.path; }

    /// Arrives, and waits until the phase is over. At completion it is, and `phase` is its number; the first one is 0.
    ///
    /// Completion signature: `void(error_code, std::uint64_t phase)`.
    /// Errors: those of `latch`.
    /// Cancellation: the arrival is taken back, unless the phase is over by then. Terminal, partial: completes at once. Total:
    /// completes when no trace is left.
    template <class CompletionToken = boost::asio::deferred_t>
        requires(!std::convertible_to<CompletionToken, std::uint64_t>)
    auto async_arrive_and_wait(CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(place_.core, token, &start_part, place_,
                                              detail::gathering_role::arrive,
                                              std::optional<std::uint64_t>{});
    }

    /// The same, in this phase alone. If the phase is over already, it completes at once, and does not arrive in the next one.
    /// Then others have ended it without this process: another one has arrived in its place, also one that has died and whose
    /// session lives on.
    ///
    /// Completion signature: `void(error_code, std::uint64_t phase)`.
    /// Errors: `errc::invalid_option`: the phase has not begun. Else those of `latch`.
    /// Cancellation: as above.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_arrive_and_wait(std::uint64_t phase, CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(place_.core, token, &start_part, place_,
                                              detail::gathering_role::arrive, std::optional{phase});
    }

    /// Asks for the number of the phase that is under way. One read, which may lag a little.
    ///
    /// Completion signature: `void(error_code, std::uint64_t phase)`.
    /// Errors: those of `latch`.
    /// Cancellation: terminal, partial, total: completes at once.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_phase(CompletionToken&& token = CompletionToken()) const
    {
        return detail::start<CompletionToken>(place_.core, token, &start_part, place_,
                                              detail::gathering_role::look,
                                              std::optional<std::uint64_t>{});
    }

private:
    static void start_part(const std::shared_ptr<detail::client_core>&,
                           detail::operation_ptr<error_code, std::uint64_t> op,
                           detail::gathering_place place, detail::gathering_role what,
                           std::optional<std::uint64_t> phase);

    detail::gathering_place place_;
};

} // namespace colock

#endif
