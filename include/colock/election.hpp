// Electing a leader among candidates with names.
#ifndef COLOCK_ELECTION_HPP
#define COLOCK_ELECTION_HPP

#include <colock/client.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/detail/initiate_lock.hpp>
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

/// Options of an election; as those of the same names in `lock_options`.
///
/// Do not make options in braces in a statement that contains `co_await`: GCC 12 destroys them twice. Give them a
/// name in a statement before it.
struct election_options {
    /// Access control of a candidate's node; `client_options::acl` when empty.
    std::optional<access_control_list> acl = {};
    /// What a candidate does when its session expires while it waits: stand again, behind all others, or complete
    /// with `errc::session_expired`.
    bool rejoin_on_expiry = true;
    /// How long before the servers could let somebody else lead the leader is told to stop.
    std::chrono::milliseconds safety_margin{0};
    /// How long a leader that was cancelled may go on before that is reported.
    std::chrono::milliseconds body_grace = std::chrono::seconds{1};

    bool operator==(const election_options&) const = default;
};

namespace detail {

// Immutable: what an election is, and what async_with_lock needs of a lock.
struct COLOCK_DECL candidacy {
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

/// An election among all processes that use the same path of the same ensemble.
///
/// Each candidate has an identity, a text for the others to know it by; nothing checks that it is unique. A candidate
/// is an ephemeral sequential node in the directory `path`, with the identity as its data, and the first one leads:
/// that of `LeaderLatch` of Apache Curator, with which it can be mixed. A candidate that is cancelled, has ended, or
/// whose session is over makes way for the next one.
///
/// **What is guaranteed, and what is not**, is the same as for `mutex`: two do not lead at a time, but a process
/// that was paused for longer than its session may believe that it leads. What such a late-comer must not damage
/// has to check the token of the guard that the leader is given.
///
/// An `election` is a handle: a client, a path, an identity, options. It does no I/O when it is made, does not throw
/// for a bad path, and may be destroyed while its operations are under way; they go on. Candidates of one client for
/// one path must have the same identity and options as long as they stand, else they are refused with
/// `errc::conflicting_use`, as locks of other kinds are. Whoever only looks on needs no client of his own.
///
/// **Thread safety**: distinct objects may be used from several threads; of one object, all functions may
/// be called from several threads at once, except assigning and destroying it.
class COLOCK_DECL election {
public:
    using executor_type = boost::asio::any_io_executor;

    // Not one with a default argument, see `mutex`.
    election(client& c, std::string path, std::string identity);
    election(client& c, std::string path, std::string identity, election_options options);

    [[nodiscard]] executor_type get_executor() const noexcept;
    [[nodiscard]] const std::string& path() const noexcept;
    [[nodiscard]] const std::string& identity() const noexcept;

    /// Stands for election, runs the body while this candidate leads, steps down when it ends, and gives what the
    /// body gave. The body is cancelled as soon as others may lead.
    ///
    /// ```cpp
    /// co_await scheduler.async_lead([&](const colock::leadership& term) -> asio::awaitable<void> {
    ///     co_await write(term.token(), text);
    /// });
    /// ```
    ///
    /// Let a lambda capture by reference where you `co_await` this; `mutex::async_with_lock` says why.
    ///
    /// `body(const leadership&)`, or `body(const unique_lock&)`, is that of `mutex::async_with_lock`, with all that is
    /// said there: about what it returns, where it runs, that it is waited for when it is cancelled, and about the guard,
    /// which has the token of this term of office. To step down, end the body or cancel this operation. To stand again, call it again.
    /// Several may stand on one client; each has a place of its own.
    ///
    /// Completion signature: `void(std::exception_ptr, T)`, or `void(std::exception_ptr)`; the node is gone when it
    /// completes, unless the term was lost or this was cancelled.
    /// Errors, as `system_error`: those of `mutex::async_lock`, without running the body; `errc::lock_lost`, whose
    /// text tells why, when others might lead before the body ended, or before a server confirmed the release. An
    /// exception of the body takes precedence over `errc::lock_lost`, unless it is `operation_aborted`.
    /// Cancellation: until the body runs, terminal and partial complete at once, total when no trace of the
    /// candidate is left; then any type is passed on to the body, and the candidate leaves in the background.
    /// Executor: the handler's associated one, by default the client's. Never inline.
    /// Token: by default `use_awaitable`; see `mutex::async_with_lock`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_lead(F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock(standing<false>{candidacy_}, std::forward<F>(body), detail::never,
                                 std::forward<CompletionToken>(token));
    }

    /// The same, standing for election for so long at most: one limit for the wait, from the initiation on. The term
    /// may last longer. Zero and negative durations lead if there is no other candidate.
    ///
    /// Completion signature: `void(std::exception_ptr, std::optional<T>)`, or `void(std::exception_ptr, bool)` when the
    /// body gives nothing: what the body gave, or `true`; an empty optional, or `false`, when this candidate was not
    /// elected in time, which is no error.
    /// Errors, as `system_error`: `errc::disconnected` there was no connection when the time was over; those of
    /// `async_lead`. Cancellation, executor and token: as for `async_lead`.
    template <class Rep, class Period, class F,
              class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_lead_for(std::chrono::duration<Rep, Period> limit, F&& body,
                            CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock(standing<true>{candidacy_}, std::forward<F>(body), limit,
                                 std::forward<CompletionToken>(token));
    }

    /// Stands for election; completes when this candidate leads, with the guard of the term. For programs that lead
    /// for longer than one function runs; `async_lead` is the better choice elsewhere, because it also stops what must
    /// not go on after a loss (`held_lock::async_wait_lost`).
    ///
    /// ```cpp
    /// colock::leadership term = co_await scheduler.async_campaign();
    /// co_await term.async_proclaim("host-7:8080"); // where the leader is to be found
    /// co_await work();
    /// co_await term.async_resign();
    /// ```
    ///
    /// Completion signature: `void(error_code, leadership)`.
    /// Errors: those of `mutex::async_lock`.
    /// Cancellation: terminal and partial complete at once, and the candidate leaves in the background; total alone
    /// completes when no trace of the candidate is left. After the election it is too late, and the term is delivered.
    /// Executor: the handler's associated one, by default the client's. Never inline.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_campaign(CompletionToken&& token = CompletionToken())
    {
        return detail::acquire<leadership>(candidacy_->stand(),
                                           std::forward<CompletionToken>(token), detail::never);
    }

    /// Asks who leads; nobody does when there is no candidate. Two round trips.
    ///
    /// It is what the server of this client knows, which may be a little behind, and who leads may not know it yet.
    /// While there is no connection it waits for one.
    ///
    /// Completion signature: `void(error_code, std::optional<std::string>)`, the identity.
    /// Errors: `errc::invalid_path`; `zookeeper_errc::no_auth`; `errc::not_connected`, `errc::client_closed`;
    /// `operation_aborted` cancelled.
    /// Cancellation: any type completes at once.
    /// Executor: the handler's associated one, by default the client's. Never inline.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_leader(CompletionToken&& token = CompletionToken()) const
    {
        return boost::asio::async_initiate<CompletionToken,
                                           void(error_code, std::optional<std::string>)>(
            detail::initiate<error_code, std::optional<std::string>>{candidacy_->core}, token,
            &detail::candidacy::leader, candidacy_->path);
    }

    /// Asks who stands for election: the leader first, then the others in the order in which it will be their turn.
    /// Two round trips. `async_view_queue` of the election tells more about them.
    ///
    /// Completion signature: `void(error_code, std::vector<std::string>)`, the identities.
    /// Errors, cancellation and executor: as for `async_leader`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_participants(CompletionToken&& token = CompletionToken()) const
    {
        return boost::asio::async_initiate<CompletionToken,
                                           void(error_code, std::vector<std::string>)>(
            detail::initiate<error_code, std::vector<std::string>>{candidacy_->core}, token,
            &detail::candidacy::participants, candidacy_->path);
    }

    /// Waits until the leader is another than the one that was seen, or until there is none; completes with the
    /// identity of the leader. Completes at once when that is so already. A loop misses no leader that lasts. Of
    /// several that follow each other quickly it may see the last one only:
    ///
    /// ```cpp
    /// std::optional<std::string> leader; // nobody
    /// for (;;) {
    ///     leader = co_await scheduler.async_wait_change(leader);
    ///     show(leader);
    /// }
    /// ```
    ///
    /// Waiting costs no request: the server tells when the leader's node goes; candidates that come and go behind
    /// it wake nobody. A leader whose term ends and who is elected again under the same identity is no change.
    ///
    /// Completion signature: `void(error_code, std::optional<std::string>)`.
    /// Errors and executor: as for `async_leader`.
    /// Cancellation: any type completes at once, and the watch is removed.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_wait_change(std::optional<std::string> seen,
                           CompletionToken&& token = CompletionToken()) const
    {
        return boost::asio::async_initiate<CompletionToken,
                                           void(error_code, std::optional<std::string>)>(
            detail::initiate<error_code, std::optional<std::string>>{candidacy_->core}, token,
            &detail::candidacy::wait_change, candidacy_->path, std::move(seen));
    }

private:
    friend struct detail::access;

    // See with_lock.hpp. The path is taken when it is locked, and free for others before.
    template <bool tries_only>
    class standing {
    public:
        using guard_type = leadership;
        static constexpr bool tries = tries_only;

        explicit standing(std::shared_ptr<const detail::candidacy> c) noexcept
            : candidacy_{std::move(c)}
        {
        }
        [[nodiscard]] executor_type get_executor() const noexcept
        {
            return detail::executor_of(candidacy_->core);
        }
        [[nodiscard]] std::chrono::milliseconds body_grace() const noexcept
        {
            return candidacy_->options.body_grace;
        }
        template <class Visit>
        void each_revocable(const leadership&, Visit) const noexcept
        {
        }
        template <class CompletionToken>
        auto async_lock(detail::deadline until, CompletionToken&& token) const
        {
            return detail::acquire<leadership>(candidacy_->stand(),
                                               std::forward<CompletionToken>(token), until);
        }

    private:
        std::shared_ptr<const detail::candidacy> candidacy_;
    };

    std::shared_ptr<const detail::candidacy> candidacy_;
};

} // namespace colock

#endif
