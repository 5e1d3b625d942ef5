// Electing a leader among candidates with names.
#ifndef COLOCK_ELECTION_HPP
#define COLOCK_ELECTION_HPP

#include <colock/client.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/detail/initiate_lock.hpp>
#include <colock/detail/made_once.hpp>
#include <colock/detail/with_lock.hpp>
#include <colock/leadership.hpp>
#include <colock/lock_options.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock {

/// Options of an election.
struct election_options {
    /// Access control of a candidate's node; `client_options::acl` when empty.
    std::optional<access_control_list> acl = {};
    /// What a candidate does when its session expires while it waits: rejoin at the end of the queue (true), or
    /// complete with `errc::session_expired` (false).
    bool rejoin_on_expiry = true;
    /// Without contact to the servers, the leader is notified this long before another candidate could lead.
    /// While connections fail it leads for that much less. The limit is that of
    /// `lock_options::safety_margin`. More is refused with `errc::invalid_option`.
    std::chrono::milliseconds safety_margin{0};
    /// How long a body that was cancelled may go on before the log and `client_stats::bodies_overdue` report it. Must
    /// not be negative (`errc::invalid_option`).
    std::chrono::milliseconds body_grace = std::chrono::seconds{1};

    bool operator==(const election_options&) const = default;

    /// Not for users: works around a fault of GCC 12.
    COLOCK_MADE_ONCE(election_options);
};

namespace detail {

// Immutable: what an election is, and what async_with_lock needs of a lock.
struct COLOCK_DECL election_path {
    std::shared_ptr<client_core> core;
    std::string path;
    lock_options options;

    [[nodiscard]] std::shared_ptr<const lock_path> stand() const;

    static void leader(const std::shared_ptr<client_core>& core,
                       operation_ptr<error_code, std::optional<std::string>> op, std::string path);
    static void participants(const std::shared_ptr<client_core>& core,
                             operation_ptr<error_code, std::vector<std::string>> op,
                             std::string path);
    static void wait_change(const std::shared_ptr<client_core>& core,
                            operation_ptr<error_code, std::optional<std::string>> op,
                            std::string path, std::optional<std::string> seen);
};

} // namespace detail

/// An election among all processes that use the same path of the same ensemble. Use it by `async_lead`, which runs a
/// body while this candidate leads, and cancels the body when other candidates may lead:
///
/// ```cpp
/// co_await scheduler.async_lead([&](const colock::leadership& term) -> asio::awaitable<void> {
///     co_await write(term.token(), text);
/// });
/// ```
///
/// Each candidate has an identity, a text for the others to know it by; nothing checks that it is unique. A candidate
/// is an ephemeral sequential node in the directory `path`, with the identity as its data. The first one leads. The
/// nodes are those of Apache Curator's `LeaderLatch`, which can take part in the same election. A candidate that is
/// cancelled, has ended, or whose session has ended leaves the queue; the next candidate leads.
///
/// Never nest an election's path below a lock's path, and check names that come from outside; see `mutex`.
///
/// **What is guaranteed**: among live sessions at most one candidate leads, unless an operator deletes its node.
/// **What is not**: a process that is paused for longer than its session may believe that it leads. A
/// resource that such a late-comer must not damage has to check the token of its guard.
///
/// **Errors** of every acquisition and body, with what to do. docs/locks.md has the rest of them, which are rare.
///
/// | code | what it means, and what to do |
/// |---|---|
/// | `errc::invalid_path`, `errc::invalid_option` | Correct what the diagnostics name (`bind_diagnostics`). |
/// | `errc::not_connected` | Call `client::async_connect` first. |
/// | `errc::conflicting_use` | Candidates of one client and path need one identity and equal options. |
/// | `errc::conflicting_kind` | Another client uses the path as another kind of lock. Use another path. |
/// | `errc::session_expired` | `election_options::rejoin_on_expiry` is false. Acquire again. |
/// | `condition::lock_lost` | It was granted, and lost before its handler ran. Acquire it again. |
/// | `errc::no_answer` | Of tries with a time: no answer had come at its end. Try again later. |
/// | `zookeeper_errc::no_auth` | Add credentials, or change the access control list. |
/// | `errc::client_closed` | The client was closed. |
/// | `operation_aborted` | The operation was cancelled, or the client was destroyed. |
/// | `errc::lock_lost` | Of bodies: the term was lost before the body ended, or before a server confirmed |
/// | | the release; or the client was closed. Do not rely on what the body did. |
///
/// docs/locks.md also says what a body may be, and what it completes with. For all functions of this class:
///
/// **Cancellation** of an acquisition: terminal and partial complete it at once, and the candidate leaves in the
/// background. Total completes it when no trace of it is left, which may take until there is a connection. After the
/// grant a cancellation comes too late, and the guard is delivered. While a body runs, any type is passed on to the
/// body, and the operation completes when the body has ended.
///
/// **Executor**: a handler runs on its associated executor, by default the client's; never within the function that
/// starts the operation.
///
/// **Thread safety**: all functions of one object may be called from several threads at once, except assigning and
/// destroying it.
///
/// **Lifetime**: an object is a handle; one that was moved from may only be assigned or destroyed. Making it does no
/// I/O and does not throw for a bad path. It may be destroyed while its operations are under way; they continue.
/// Candidates of one client for one path must have the same identity and options as long as they stand. Other
/// candidates, and locks of other kinds, are refused with `errc::conflicting_use`.
class COLOCK_DECL election {
public:
    using executor_type = boost::asio::any_io_executor;

    // Not one with a default argument: GCC 12 would destroy that twice in a co_await expression.
    /// A candidate of the election at `path`, with the default options. The others know it by `identity`, which
    /// `async_leader` gives. Neither it nor its last line may be `revocation_request` (`errc::invalid_option`).
    election(client& zk, std::string path, std::string identity);
    /// The same with these options. Operations refuse options that make no sense (`errc::invalid_option`).
    election(client& zk, std::string path, std::string identity, election_options options);

    /// The executor of the client.
    [[nodiscard]] executor_type get_executor() const noexcept;
    /// The path of the constructor.
    [[nodiscard]] const std::string& path() const noexcept;
    /// The identity of the constructor.
    [[nodiscard]] const std::string& identity() const noexcept;

    /// Stands for election, runs `body(const leadership&)`, or `body(const unique_lock&)`, while this candidate
    /// leads, steps down when it ends, and returns what the body returned. The body is cancelled as soon as another
    /// candidate may lead.
    ///
    /// To step down, end the body or cancel this operation. To stand again, call it again. Several may stand on one
    /// client; each has a place of its own.
    ///
    /// A revocation (`async_revoke_holders`) does not cancel the body: let the body wait for
    /// `term.async_wait_revoked()`, and end.
    ///
    /// A lambda that is written within a `co_await` expression must capture by reference: GCC 12 destroys twice what
    /// it captures by value. A body with a name may capture in any way; it is copied.
    ///
    /// Completion signature: `void(std::exception_ptr failure, T result)`; `void(std::exception_ptr failure)` when
    /// the body gives nothing.
    /// Errors, as `system_error`: the table of the class, also `errc::lock_lost`. An exception of the body takes
    /// precedence over that, unless it comes of the cancellation.
    /// Cancellation: before the body runs, terminal and partial complete at once, and total completes when no trace
    /// is left. Then any type is passed on to the body, and the operation completes when the body has ended.
    /// Token: by default `use_awaitable`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_lead(F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<false>(standing(), std::forward<F>(body), detail::never,
                                        std::forward<CompletionToken>(token));
    }

    /// Stands for election for `limit` at most, from the initiation on, and runs the body while this candidate
    /// leads. Else the body does not run, which is no error. The term may last longer. Zero and negative times lead
    /// only if there is no other candidate. There is no try that takes a time point: pass the time that is left.
    ///
    /// Completion signature: `void(std::exception_ptr failure, std::optional<T> result)`: empty when the body did
    /// not run; `void(std::exception_ptr failure, bool has_run)` when the body gives nothing.
    /// Errors, as `system_error`: the table of the class, also `errc::lock_lost`. An exception of the body takes
    /// precedence over that, unless it comes of the cancellation. `errc::disconnected`: there was no connection when
    /// the time was over; try again later.
    /// Cancellation: before the body runs, terminal and partial complete at once, and total completes when no trace
    /// is left. Then any type is passed on to the body, and the operation completes when the body has ended.
    /// Token: by default `use_awaitable`.
    template <class Rep, class Period, class F,
              class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_lead_for(std::chrono::duration<Rep, Period> limit, F&& body,
                            CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<true>(standing(), std::forward<F>(body), limit,
                                       std::forward<CompletionToken>(token));
    }

    /// Stands for election. At completion this candidate leads, and `term` is the guard of its term of office. For
    /// programs that lead for longer than one function runs; otherwise prefer `async_lead`, because it
    /// also stops work that must not continue after a loss.
    ///
    /// ```cpp
    /// colock::leadership term = co_await scheduler.async_campaign();
    /// co_await term.async_proclaim("host-7:8080"); // where the leader is to be found
    /// co_await work();
    /// co_await term.async_resign();
    /// ```
    ///
    /// Completion signature: `void(error_code, leadership term)`.
    /// Errors: the table of the class.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_campaign(CompletionToken&& token = CompletionToken())
    {
        return standing().async_lock(detail::never, std::forward<CompletionToken>(token));
    }

    /// Stands for election for `limit` at most, from the initiation on. At completion `term` is the guard of the term of
    /// office, or is empty if this candidate does not lead in time, which is no error. Zero and negative times lead only
    /// if there is no other candidate.
    ///
    /// Completion signature: `void(error_code, leadership term)`.
    /// Errors: the table of the class. `errc::disconnected`: there was no connection when the time was over; try again
    /// later.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class Rep, class Period, class CompletionToken = boost::asio::deferred_t>
    auto async_try_campaign_for(std::chrono::duration<Rep, Period> limit,
                                CompletionToken&& token = CompletionToken())
    {
        return standing().async_lock(limit, std::forward<CompletionToken>(token));
    }

    /// Asks who leads: `leader` is the identity, and empty when there is no candidate. The text is "" while the leader does
    /// not know yet that somebody has asked it to resign: the request replaces its identity. Two round trips.
    ///
    /// The answer is what this client's server knows, which may lag a little, and the leader may not know it
    /// yet. While there is no connection it waits for one.
    ///
    /// Completion signature: `void(error_code, std::optional<std::string> leader)`.
    /// Errors:
    ///  - `errc::invalid_path`: the path is malformed.
    ///  - `zookeeper_errc::no_auth`: an access control list does not allow to read the candidates.
    ///  - others of `client::async_children`, such as `errc::not_connected` and `errc::client_closed`.
    ///  - `operation_aborted`: cancelled, or the client was destroyed.
    ///
    /// Cancellation: terminal, partial, total: completes at once.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_leader(CompletionToken&& token = CompletionToken()) const
    {
        return detail::start<CompletionToken>(path_->core, token, &detail::election_path::leader,
                                              path_->path);
    }

    /// Asks who stands for election: `identities` has the leader first, then the others in the order of their
    /// turns. `async_view_queue` of the election returns more about them. Two round trips for up to 64 candidates.
    ///
    /// The answer is what this client's server knows, which may lag a little. An identity may be "", as that of
    /// `async_leader`. While there is no connection it waits for one.
    ///
    /// Completion signature: `void(error_code, std::vector<std::string> identities)`.
    /// Errors:
    ///  - `errc::invalid_path`: the path is malformed.
    ///  - `zookeeper_errc::no_auth`: an access control list does not allow to read the candidates.
    ///  - others of `client::async_children`, such as `errc::not_connected` and `errc::client_closed`.
    ///  - `operation_aborted`: cancelled, or the client was destroyed.
    ///
    /// Cancellation: terminal, partial, total: completes at once.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_participants(CompletionToken&& token = CompletionToken()) const
    {
        return detail::start<CompletionToken>(path_->core, token,
                                              &detail::election_path::participants, path_->path);
    }

    /// Waits until the leader differs from `seen`, or until there is none. At completion `leader` is its
    /// identity, empty when there is no candidate. A loop misses no leader that lasts. Of several in
    /// quick succession it may see only the last one:
    ///
    /// ```cpp
    /// std::optional<std::string> leader; // nobody
    /// for (;;) {
    ///     leader = co_await scheduler.async_wait_change(leader);
    ///     show(leader);
    /// }
    /// ```
    ///
    /// Waiting costs no request: the server notifies when the leader's node goes; candidates that come and go after
    /// it wake nobody. It is no change if a leader's term ends and the same identity is elected again, or if the leader
    /// is asked to resign after this wait has read its node. One that was asked before that is "", as `async_leader`
    /// gives it: a loop may see "", and then the same identity again. The wait outlasts a disconnection.
    ///
    /// Completion signature: `void(error_code, std::optional<std::string> leader)`.
    /// Errors:
    ///  - `errc::invalid_path`: the path is malformed.
    ///  - `zookeeper_errc::no_auth`: an access control list does not allow to read the candidates.
    ///  - others of `client::async_children`, such as `errc::not_connected` and `errc::client_closed`.
    ///  - `operation_aborted`: cancelled, or the client was destroyed.
    ///
    /// Cancellation: terminal, partial, total: completes at once, and removes the watch.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_wait_change(std::optional<std::string> seen,
                           CompletionToken&& token = CompletionToken()) const
    {
        return detail::start<CompletionToken>(
            path_->core, token, &detail::election_path::wait_change, path_->path, std::move(seen));
    }

private:
    friend struct detail::access;

    // The path is taken now, and free for others before.
    [[nodiscard]] detail::lockable<leadership> standing() const
    {
        return detail::lockable<leadership>{path_->stand()};
    }

    std::shared_ptr<const detail::election_path> path_;
};

} // namespace colock

#endif
