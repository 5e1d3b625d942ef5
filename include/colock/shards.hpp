// Pieces of work, each owned by one process of many.
#ifndef COLOCK_SHARDS_HPP
#define COLOCK_SHARDS_HPP

#include <colock/client.hpp>
#include <colock/detail/deadline.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/detail/made_once.hpp>
#include <colock/detail/start_operation.hpp>
#include <colock/detail/with_lock.hpp>
#include <colock/fencing_token.hpp>
#include <colock/mutex.hpp>
#include <colock/unique_lock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock {

/// What happens when the body of a shard ends, by itself or by an exception, while this process owns the shard.
enum class body_end {
    fail, ///< All bodies are cancelled, and `shards::async_run` completes: with the exception, if there is one.
    restart, ///< The shard is released, and taken again after a pause that grows up to half a minute.
    release, ///< The shard goes to another member, and is not taken again in this run.
};

/// A shard: its number, and its name.
struct shard_id {
    std::uint32_t index = 0; ///< From 0.
    std::string name;        ///< As in `shards_options::names`, or the number as text.

    bool operator==(const shard_id&) const = default;
};

/// What the shards are, and how they move.
struct shards_options {
    /// How many shards there are, at most 100,000; or 0, and `names` says it. All members have to give the same.
    std::size_t count = 0;
    /// The names of the shards, which are names of nodes, instead of `count`.
    std::vector<std::string> names = {};
    /// The name of this process among the members; by default host and process id. A process that starts again under its
    /// old name may keep its shards.
    std::string member = {};
    /// This process gets shards in proportion to it.
    std::uint32_t weight = 1;
    /// Owned shards do not move to balance the load before the group has not changed for this time. A shard without an owner
    /// is assigned at once.
    std::chrono::milliseconds settle = std::chrono::seconds{5};
    /// This many owned shards move at the same time, at most; one that takes longer than `prepare_limit` counts no more.
    std::size_t moves_at_a_time = 16;
    /// Runs before this process owns a shard, while the old owner still works; after it took the shard's lock where there
    /// is no owner. What it throws is treated as the end of a body.
    std::function<boost::asio::awaitable<void>(const shard_id&)> prepare = {};
    /// After this time `prepare` is cancelled, and the move goes on, whether it has ended or not: under the lock, the body
    /// begins.
    std::chrono::milliseconds prepare_limit = std::chrono::seconds{30};
    /// A member that has not taken a shard this long after `prepare_limit` loses it to another one.
    std::chrono::milliseconds take_limit = std::chrono::minutes{1};
    /// When a body ends while this process owns its shard.
    body_end when_body_ends = body_end::fail;
    /// Whether this process may replace another number, or other names, of shards that are written. It waits until no member
    /// with the old ones is left. Without it, it is refused.
    bool redefine = false;
    /// Access control of all nodes; `client_options::acl` when empty.
    std::optional<access_control_list> acl = {};
    /// As in `lock_options`, for the lock of each shard.
    std::chrono::milliseconds safety_margin{0};
    /// As in `lock_options`.
    std::chrono::milliseconds body_grace = std::chrono::seconds{1};

    /// Not for users: works around a fault of GCC 12.
    COLOCK_MADE_ONCE(shards_options);
};

/// Who has a shard.
struct shard_owner {
    shard_id shard; ///< Which one.
    std::optional<std::string>
        owner; ///< The member that holds the shard's lock, or whoever else does.
    std::optional<std::string> assigned; ///< The member that is to own it.
    /// When the owner joined the queue of the lock, by the servers' clock: shortly before it owned the shard.
    std::optional<std::chrono::system_clock::time_point> since = {};

    bool operator==(const shard_owner&) const = default;
};

/// A shard that this process owns, as the body gets it, for as long as it runs: the shard, and the lock that is held.
class owned_shard {
public:
    owned_shard(const owned_shard&) = delete;
    owned_shard& operator=(const owned_shard&) = delete;

    /// From 0.
    [[nodiscard]] std::uint32_t index() const noexcept { return id_.index; }
    /// As in `shards_options::names`, or the number as text.
    [[nodiscard]] const std::string& name() const noexcept { return id_.name; }
    /// The guard of the shard's lock: `loss_reason()`, `safe_until()`, and the rest.
    [[nodiscard]] const unique_lock& lock() const noexcept { return held_; }
    /// Greater than that of every earlier owner of this shard.
    [[nodiscard]] fencing_token token() const noexcept { return held_.token(); }
    /// Puts a condition before the steps of a transaction: that this process still owns the shard. See
    /// `held_lock::guarded`.
    template <class... Ops>
    [[nodiscard]] std::vector<transaction_op> guarded(Ops&&... ops) const
    {
        return held_.guarded(std::forward<Ops>(ops)...);
    }

private:
    friend struct detail::access;

    owned_shard(const shard_id& id, const unique_lock& held) noexcept : id_{id}, held_{held} {}

    const shard_id& id_;
    const unique_lock& held_;
};

namespace detail {

class shards_run;

// The user's body, for the part that is compiled. One turn of a shard: its lock is acquired, and the body runs.
class shard_bodies {
public:
    struct turn {
        shard_id shard;
        std::function<boost::asio::awaitable<void>()> prepare; // first, if any
        std::function<void()> began;                           // the lock is held; any thread
        std::function<void(std::exception_ptr)> ended;
        bool body_threw = false; // while it held the lock
    };

    explicit shard_bodies(boost::asio::any_io_executor executor) : executor_{std::move(executor)} {}
    shard_bodies(const shard_bodies&) = delete;
    shard_bodies& operator=(const shard_bodies&) = delete;
    virtual ~shard_bodies() = default;

    [[nodiscard]] const boost::asio::any_io_executor& executor() const noexcept
    {
        return executor_;
    }
    // `stop` and `ended` belong to this strand.
    virtual void start(mutex lock, std::shared_ptr<turn> t,
                       const boost::asio::any_io_executor& strand,
                       boost::asio::cancellation_slot stop) = 0;

private:
    boost::asio::any_io_executor executor_;
};

template <class F>
class shard_bodies_of final : public shard_bodies {
public:
    shard_bodies_of(boost::asio::any_io_executor executor, F body)
        : shard_bodies{std::move(executor)}, body_{std::move(body)}
    {
    }

    void start(mutex lock, std::shared_ptr<turn> t, const boost::asio::any_io_executor& strand,
               boost::asio::cancellation_slot stop) override
    {
        auto body = [this, t](const unique_lock& held) -> boost::asio::awaitable<void> {
            t->began();
            const auto mine = access::make<owned_shard>(t->shard, held);
            try {
                if (t->prepare) {
                    co_await t->prepare();
                    if (held.loss_reason()) {
                        throw boost::system::system_error{errc::lock_lost, "async_run"};
                    }
                }
                co_await body_(mine);
            } catch (...) { // what comes of a loss is a loss
                t->body_threw = !held.loss_reason();
                if (t->body_threw) {
                    throw;
                }
                throw boost::system::system_error{errc::lock_lost, "async_run"};
            }
        };
        lock.async_with_lock(std::move(body),
                             boost::asio::bind_executor(
                                 strand, boost::asio::bind_cancellation_slot(
                                             stop, [t](std::exception_ptr e) { t->ended(e); })));
    }

private:
    F body_;
};

// What the handles of the same shards share. The run is the operation's.
struct COLOCK_DECL shards_place {
    std::shared_ptr<client_core> core;
    std::string path;
    shards_options options;
    std::weak_ptr<shards_run> current; // on the strand

    static void start_run(const std::shared_ptr<client_core>& core,
                          operation_ptr<std::exception_ptr> op, std::shared_ptr<shards_place> place,
                          std::unique_ptr<shard_bodies> bodies);
    static void start_leave(const std::shared_ptr<client_core>& core, operation_ptr<error_code> op,
                            std::shared_ptr<shards_place> place, deadline limit);
    static void start_owners(const std::shared_ptr<client_core>& core,
                             operation_ptr<error_code, std::vector<shard_owner>> op,
                             std::shared_ptr<shards_place> place);
};

template <class F>
concept shard_body = requires(F& body, const owned_shard& mine)
{
    typename awaited<decltype(body(mine))>::type;
};

class initiate_shards {
public:
    using executor_type = asio::any_io_executor;

    explicit initiate_shards(std::shared_ptr<shards_place> place) : place_{std::move(place)} {}

    [[nodiscard]] executor_type get_executor() const noexcept { return executor_of(place_->core); }

    template <class Handler, class F>
    void operator()(Handler&& handler, F&& body) const
    {
        using handler_type = std::decay_t<Handler>;
        auto executor = asio::any_io_executor{get_executor()};
        if constexpr (std::is_constructible_v<
                          asio::any_io_executor,
                          asio::associated_executor_t<handler_type, asio::any_io_executor>>) {
            executor = asio::get_associated_executor(handler, get_executor());
        }
        auto bodies = std::make_unique<shard_bodies_of<std::decay_t<F>>>(std::move(executor),
                                                                         std::forward<F>(body));
        operation_ptr<std::exception_ptr> op{operation_of<handler_type, std::exception_ptr>::make(
            handler_type{std::forward<Handler>(handler)}, executor_of(place_->core), place_->core)};
        shards_place::start_run(place_->core, std::move(op), place_, std::move(bodies));
    }

private:
    std::shared_ptr<shards_place> place_;
};

} // namespace detail

/// Pieces of work that are spread over all processes which run this with the same path: each shard is owned by one of them
/// at most, evenly by weight, and moves when a process comes, leaves or dies.
///
/// ```cpp
/// colock::shards orders{zk, "/shards/orders", {.count = 512}};
/// co_await orders.async_run([&](const colock::owned_shard& mine) -> asio::awaitable<void> {
///     co_await write(mine.token(), "the work of shard " + mine.name()); // cancelled when it moves, or is lost
/// });
/// ```
///
/// A shard is a lock, a `mutex` of its own below the path: who owns the shard holds it. The members of the group elect a
/// leader, which writes who is to own what into one node that all of them watch. That assignment is a hint. A wrong one costs
/// time, and never lets two processes own a shard. When a shard moves, the new owner prepares, and queues for the lock; then
/// the old owner's body is cancelled, and the lock is released when the body has ended.
///
/// **What is guaranteed**: that of a `mutex`, for each shard: among live sessions at most one process owns it, an owner that
/// is cut off is notified of the loss before the next one owns it, and tokens grow. A process queues for a shard again only
/// when its old body has ended. **What is not**: a process that is paused for longer than its session may go on; see
/// `unique_lock::token`.
///
/// For all functions of this class:
///
/// **Executor**: a handler runs on its associated executor, by default the client's; never within the function that
/// starts the operation.
///
/// **Thread safety**: all functions of one object may be called from several threads at once, except assigning and
/// destroying it.
///
/// **Lifetime**: an object is a handle; one that was moved from may only be assigned or destroyed. Making it does no
/// I/O. It may be destroyed while its operations are under way; they continue.
class COLOCK_DECL shards {
public:
    using executor_type = boost::asio::any_io_executor;

    // Not one with a default argument: GCC 12 would destroy that twice in a co_await expression.
    /// The shards below `path`, which must not be "/".
    shards(client& zk, std::string path, shards_options options);

    /// The executor of the client.
    [[nodiscard]] executor_type get_executor() const noexcept;
    /// The path of the constructor.
    [[nodiscard]] const std::string& path() const noexcept;

    /// Becomes a member, and runs `body(const owned_shard&)` for each shard that this process owns, several at a time. A body
    /// is cancelled when its shard moves, or is lost; it should end soon then, for the shard's next owner waits for that. At
    /// completion all bodies have ended, and this process owns nothing.
    ///
    /// Completes when it is cancelled, when `async_leave` is done, or when it fails. While there is no connection, and when
    /// the session expires, it goes on; bodies whose locks are lost are cancelled.
    ///
    /// A lambda that is written within a `co_await` expression must capture by reference: GCC 12 destroys twice what
    /// it captures by value.
    ///
    /// Completion signature: `void(std::exception_ptr failure)`.
    /// Errors, as `system_error`:
    ///  - `errc::invalid_path`, `errc::invalid_option`: correct what the diagnostics name (`bind_diagnostics`).
    ///  - `errc::conflicting_use`: another number, or other names, of shards are written; or this client runs the shards of
    ///    this path already.
    ///  - `errc::name_in_use`: another member has the name.
    ///  - `errc::session_full`: one session could not hold all shards, if the other members died. The diagnostics name the
    ///    budget. Have fewer shards, or raise `client_options::max_session_size`.
    ///  - other codes of an acquisition: `mutex` has the table.
    ///  - what a body has thrown, with `body_end::fail`. No failure when a body has just ended.
    ///  - `operation_aborted`: cancelled, or the client was destroyed.
    ///
    /// Cancellation: any type cancels the bodies, and completes when they have ended.
    /// Token: by default `use_awaitable`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_run(F&& body, CompletionToken&& token = CompletionToken())
    {
        static_assert(detail::shard_body<std::decay_t<F>>,
                      "The body has to take the shard by const reference, and to return an "
                      "asio::awaitable: [&](const colock::owned_shard& mine) -> "
                      "asio::awaitable<void> { ... }. The body comes before the completion token");
        static_assert(
            !detail::destroyed_twice<F, CompletionToken>,
            "Within a co_await expression GCC 12 destroys twice what a lambda captures by "
            "value. Capture by reference, or give the body a name and pass that name");
        return detail::start_throwing<CompletionToken, void(std::exception_ptr)>(
            detail::initiate_shards{place_}, std::forward<CompletionToken>(token),
            std::forward<F>(body));
    }

    /// Hands all shards of this process on, to members that prepare for them, and then ends `async_run`, which completes
    /// without a failure. For a process that is about to end: call it on SIGTERM.
    ///
    /// The bodies that are left are cancelled when `limit` is over (of several calls, the earliest one); when there is no
    /// other member; or when the connection is lost.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors: `errc::not_held`: this object does not run. `operation_aborted`: cancelled, which does not end the leaving;
    /// or the client was destroyed.
    /// Cancellation: terminal, partial, total: completes at once.
    template <class Rep, class Period, class CompletionToken = boost::asio::deferred_t>
    auto async_leave(std::chrono::duration<Rep, Period> limit,
                     CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(
            place_->core, token, &detail::shards_place::start_leave, place_, detail::after(limit));
    }

    /// Asks who owns what: for each shard who holds its lock, and to whom it is assigned. Also for programs that only look:
    /// with neither `count` nor `names` in the options it asks for the shards that the members have, and gives none where
    /// there has never been a member. A list and a read for each shard.
    ///
    /// The members are those of the `group` at `path`/members.
    ///
    /// Completion signature: `void(error_code, std::vector<shard_owner> owners)`.
    /// Errors:
    ///  - `errc::invalid_path`, `errc::invalid_option`: correct what the diagnostics name.
    ///  - `zookeeper_errc::no_auth`: an access control list does not allow to read it.
    ///  - others of `client::async_children`, such as `errc::not_connected` and `errc::client_closed`.
    ///  - `operation_aborted`: cancelled, or the client was destroyed.
    ///
    /// Cancellation: terminal, partial, total: completes at once.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_owners(CompletionToken&& token = CompletionToken()) const
    {
        return detail::start<CompletionToken>(place_->core, token,
                                              &detail::shards_place::start_owners, place_);
    }

private:
    std::shared_ptr<detail::shards_place> place_;
};

} // namespace colock

#endif
